"""What somebody found out, is after, has promised and is; and what their project is made of."""

from memorist.learning.extractors.kinds import StatementKind
from memorist.learning.extractors.patterns import compiled
from memorist.learning.extractors.rules.nouns import (
    BY_WHEN,
    HAVES,
    I_AM,
    I_DO,
    I_HAVE,
    KIN,
    LIFE_GOAL,
    OWNED,
    PROJECT_NOUN,
    STATE,
    TASK,
    THIS_TASK,
    WE_ARE,
    WE_DO,
)
from memorist.learning.extractors.rules.rule import Rule

LIFE = (
    # Insights.
    Rule(
        StatementKind.INSIGHT,
        compiled(rf"""
            (?:{I_DO}|{I_HAVE})(?:noticed|realised|realized|found out|found|learned|learnt|discovered|
            figured out) (?:that )?(?!it\b|this\b|a (?:bug|typo|problem|way)|the (?:bug|problem|issue|file|line)|out\b|
            your\b|you\b|an? \w+ (?:on|in|at) |I (?:need|have|forgot|don't|left|was (?:missing|wrong))|I'm (?:running|
            missing|out))(?:I|my|\w+ing|\w+ (?:makes?|gives?|helps?|hurts?|ruins?|triggers?|keeps?|wakes?)).+
        """),
        0.8,
    ),
    Rule(
        StatementKind.INSIGHT,
        compiled(rf"""
            {I_DO}(?:sleep|feel|focus|work|run|perform|concentrate|recover|think|write|study|digest) (?:much |far |
            a lot |way |so much )?(?:better|worse|best|worst|terribly|badly|poorly|great) (?:when|after|if|with|on|
            without|before|in)\b.+
        """),
        0.85,
    ),
    Rule(
        StatementKind.INSIGHT,
        compiled(rf"""
            {I_DO}(?:get|wake up|end up|break out|have trouble)\b .*\b(?:when(?:ever)?|after|if|every time|from|
            because of)\b.+
        """),
        0.8,
    ),
    Rule(
        StatementKind.INSIGHT,
        compiled(r"""
            (?!it\b|that\b|this\b|you\b|your\b|which\b|nothing\b|he\b|she\b|they\b|I\b|we\b|
            please\b)[\w' -]{3,50} (?:gives? me|makes? me|keeps? me|helps? me|wakes? me|triggers? my|upsets? my|
            hurts? my|ruins? my) (?!laugh|smile|wonder|think|happy|sad|want|feel like|an? (?:error|warning|message|
            list|500|404)|posted|company|updated)\w+.*
        """),
        0.75,
    ),
    # Goals and commitments.
    Rule(
        StatementKind.GOAL,
        compiled(r"""
            (?:my|our) (?:main |big |long-term |short-term |ultimate |new |current |next |first |overall )?(?:goal|aim|
            target|objective|ambition|dream|plan|resolution)(?: [\w ]+?)?(?: is| are|:) .+
        """),
        0.9,
    ),
    Rule(
        StatementKind.GOAL,
        compiled(rf"""
            {I_AM}(?:aiming|training|saving(?: up)?|hoping|planning|preparing|studying|shooting|on track|
            working towards) (?:(?:to|for|towards?|on) )?(?!{TASK}|it\b|this\b|that\b|the (?:same|following)|
            an? (?:bug|issue|ticket)).+
        """),
        0.85,
    ),
    Rule(
        StatementKind.GOAL,
        compiled(rf"""
            {I_AM}(?:trying|looking|working) to {LIFE_GOAL}(?!.*\b(?:it|this|that)$).*
        """),
        0.8,
    ),
    Rule(StatementKind.GOAL, compiled(rf"{I_AM}trying to (?!{TASK}|get\b|make\b)\w+(?={BY_WHEN}).*"), 0.75),
    Rule(
        StatementKind.GOAL,
        compiled(rf"""
            {WE_ARE}(?:aiming|working towards?|saving(?: up)?|hoping|planning|preparing) (?:to|for|on)? ?(?!{TASK}|
            it\b|this\b|that\b).+
        """),
        0.8,
    ),
    Rule(
        StatementKind.GOAL,
        compiled(rf"""
            (?:{I_DO}|{WE_DO})(?:plan|intend|aim|hope|aspire|want|would like|need) to {LIFE_GOAL}(?!.*\b(?:it|this|
            that)$|{THIS_TASK}).*
        """),
        0.8,
    ),
    Rule(
        StatementKind.GOAL,
        compiled(rf"""
            (?:I'd|we'd) (?:like|love) to {LIFE_GOAL}(?!.*\b(?:it|this|that)$)(?={BY_WHEN}).*
        """),
        0.75,
    ),
    Rule(
        StatementKind.GOAL,
        compiled(rf"""
            (?:{I_DO}|{WE_DO})(?:want|need|plan|intend|have) to (?!{TASK})\w+(?={BY_WHEN}).*
        """),
        0.75,
    ),
    Rule(
        StatementKind.COMMITMENT,
        compiled(rf"""
            (?:{I_DO}|{I_HAVE})(?:promised|committed|pledged|signed up|agreed) (?:(?:my|the|our) [\w-]+ )?(?:to|that|
            for)\b.+
        """),
        0.85,
    ),
    Rule(
        StatementKind.COMMITMENT,
        compiled(rf"""
            (?:I|we)(?:'ll| will) (?!{TASK}|be (?:back|right|there|here)|let you|get back|see|take a look|need|have to|
            do (?:it|that|this)|wait|think)\w+(?={BY_WHEN}).*
        """),
        0.8,
    ),
    Rule(
        StatementKind.COMMITMENT,
        compiled(rf"""
            (?:{I_DO}|{I_AM}|{WE_DO}|{WE_ARE})(?:have an? (?:appointment|exam|interview|meeting with|surgery|deadline)|
            (?:flying|travell?ing|going|leaving|moving|meeting|getting married|due|seeing|presenting|returning|
            starting) )(?={BY_WHEN}|.*\bto (?-i:[A-Z])).*
        """),
        0.8,
    ),
    # Facts about the user.
    Rule(StatementKind.FACT, compiled(r"my (?:first |last |full )?name is (.+)"), 0.95),
    Rule(StatementKind.FACT, compiled(rf"{I_AM}\d{{1,3}}(?: years old)?(?:,.*)?$"), 0.9),
    Rule(
        StatementKind.FACT,
        compiled(rf"""
            {I_AM}(?:from|based in|living in|originally from|born in|married|divorced|widowed|(?:\d+ (?:weeks|
            months) )?pregnant|retired|engaged|single|self-employed|unemployed|left-handed|colou?r-?blind|diabetic|
            asthmatic|bilingual|employed|enrolled|expecting|dyslexic|autistic|deaf|blind)\b.*
        """),
        0.85,
    ),
    Rule(
        StatementKind.FACT,
        compiled(rf"""
            {I_AM}(?:an?|the) (?!bit|little|lot|fan|few|huge|big|couple|mess|idiot|sucker|beginner at this|newbie|bot|
            robot|human|person|customer|user|guy|moment|kid|member of the|same|one|only|first|
            last)(?:[\w'-]+ ){{0,4}}(?:engineer|developer|programmer|nurse|doctor|teacher|student|designer|manager|
            lawyer|accountant|writer|author|chef|cook|artist|musician|photographer|freelancer|consultant|founder|owner|
            scientist|researcher|professor|analyst|architect|electrician|plumber|carpenter|farmer|driver|pilot|runner|
            cyclist|swimmer|climber|parent|mother|father|mom|mum|dad|widow|widower|veteran|immigrant|citizen|resident|
            native|speaker|translator|therapist|psychologist|pharmacist|dentist|vet|mechanic|librarian|journalist|
            editor|director|lead|head|admin|administrator|sre|dba|intern|apprentice|contractor|trainee|beginner|novice|
            smoker|diabetic|introvert|extrovert|twin|grandmother|grandfather|grandparent|survivor|donor|member|
            physicist|chemist|biologist|economist|statistician|baker|barista|firefighter|paramedic|midwife|coach|
            trainer|instructor)s?\b.*
        """),
        0.85,
    ),
    Rule(
        StatementKind.FACT,
        compiled(rf"""
            {I_DO}(?:live|work|study|teach|commute|volunteer|freelance|serve|grew up|was born|was raised|graduated|
            majored|studied|worked|lived|was diagnosed|had surgery|was treated|broke my|tore my|
            had an? (?:heart attack|stroke|miscarriage|c-section)|own|run an?|manage an?|lead an?|speak|play (?:the|in|
            for|chess|tennis|football|soccer|basketball|golf|guitar|piano|violin)|drive an?|ride an?|wear (?:glasses|
            contacts|size|an? (?:cpap|pump|hearing)|a size)|weigh|earn|make \$?\d|pay|rent|smoke|
            take (?!care\b)(?:[\w.-]+ ){{1,6}}?(?:\d|mg|for|every|daily|twice|once|in the|at night|before bed)|inject|
            measure)\b(?! (?:it|this|that|on (?:it|this|that)|the (?:test|script|command|code|build))).+
        """),
        0.85,
    ),
    Rule(
        StatementKind.FACT,
        compiled(rf"""
            (?:{I_DO}have|I've got|I've had|we have|we've got) (?:an? |the |two |three |four |five |\d+ |some |no |
            both |type \d |my )?(?:[\w'-]+ ){{0,4}}?{HAVES}\b(?! (?:question|problem|issue)).*
        """),
        0.8,
    ),
    Rule(
        StatementKind.FACT,
        compiled(rf"""
            {I_HAVE}been (?!(?:having|looking|trying|wondering|thinking|getting|feeling|struggling|experiencing|
            noticing|finding|going|considering|hearing|waiting|dealing|debugging|loving|enjoying|meaning|staring|
            working on)\b|doing (?:pretty|well|a lot|great|okay))(?!\w+ (?:this|that|it)\b).*\b(?:for (?:(?:over|about|
            almost|more than|nearly|the (?:past|last)) )*(?:\d+|an?|two|three|four|five|six|seven|eight|nine|ten|
            twelve|many|several|some) \w+|since|\d+ (?:years|months)|diagnosed with)\b.*
        """),
        0.85,
    ),
    Rule(
        StatementKind.FACT,
        compiled(rf"""
            {I_DO}(?:started|began|joined|founded|left|got|became|adopted|bought|sold|inherited|retired|married|
            had)\b (?!it\b|this\b|that\b|the (?:server|app|process|script|error|same|message|e-?mail|build|tests?)|
            an? (?:error|message|e-?mail|warning|problem|question|idea|look|chance|notification|weird|strange)|rid\b|
            stuck\b|lost\b|to\b|confused|distracted|looking|with\b).*(?:\b(?:in|since|on) (?:\d{{4}}|january|february|
            march|april|may|june|july|august|september|october|november|december|\w+ \d{{4}})|\b(?:years?|months?|
            weeks?) ago|last (?:year|month|week|spring|summer|autumn|fall|winter)|as an?)\b.*
        """),
        0.8,
    ),
    Rule(
        StatementKind.FACT,
        compiled(rf"""
            (?:my|our) {OWNED} (?:is|are|was|will be|number is|ends|starts|begins|leaves|arrives|expires|renews|comes|
            runs|has)\b (?!{STATE}|that\b|not working|to\b|it\b|this\b).+
        """),
        0.85,
    ),
    Rule(
        StatementKind.FACT,
        compiled(rf"""
            (?:my|our) (?:(?:older|younger|oldest|youngest|late|ex|eldest|little|big|new|step|two|three|
            \d+[- ]year[- ]old|(?-i:[A-Z])\w*)[ -]){{0,3}}{KIN}(?:'s name)?(?: (?:at|from|
            in) [\w ]{{1,20}}?)?(?:,? (?-i:[A-Z])\w+,?)? (?:(?:is|are) (?!(?!expecting|studying|working|living|
            training|retiring|getting married)\w+ing\b)|(?:was|has|have|works?|lives?|turns?|loves?|hates?|likes?|
            prefers?|can't|cannot|doesn't|does not|goes|plays|speaks|died|passed away|was diagnosed|takes|needs|wants|
            had|just turned|starts|studies|eats|gets|puts? me on|prescribed|recommends|'s)\b )(?!{STATE}|said|that\b|
            it\b|this\b|to know|me\b|asking|wondering|no idea|been (?:asking|bugging)).+
        """),
        0.8,
    ),
    Rule(
        StatementKind.FACT,
        compiled(r"""
            (?:we|I) (?:use|run|host|deploy|are on|are running|target|support|depend on|rely on|ship|build) (?!it\b|
            this\b|that\b|the (?:same|test|script|following)\b|them\b|your\b|out of\b|into\b|the code)(?=.*(?:[A-Z0-9]|
            \b(?:on|for|with|in|as|via|at|to)\b)).+
        """),
        0.75,
    ),
    Rule(
        StatementKind.FACT,
        compiled(r"""
            (?:we're|we are|I'm(?! on)|I am(?! on)) (?:on|running|using|hosted|hosting|deployed|stuck on|
            pinned to) (?!it\b|this\b|that\b|the\b|track|the same|fire|vacation|holiday|a call|a break|a train|our way|
            my way|it|time|out of|into|mobile|my phone|late).+
        """),
        0.75,
    ),
    Rule(
        StatementKind.FACT,
        compiled(r"""
            (?:I'm|I am) on (?:the |an? |my )?[\w. -]*\b(?:plan|medication|diet|insulin|statins?|leave|sabbatical|tier|
            antidepressants|mg|warfarin|team|rota)\b.*
        """),
        0.8,
    ),
    Rule(
        StatementKind.FACT,
        compiled(rf"""
            {I_DO}(?:run|walk|swim|cycle|meditate|work out|exercise|lift|go to the gym|go running|practi[cs]e|journal|
            fast|commute|fly|travel|volunteer|babysit|cook|do (?:yoga|pilates|crossfit|karate|judo|boxing|sports?|
            cardio))\b(?! it\b| this\b| that\b| the (?:test|script|command|code|build)).*\b(?:every|daily|a (?:day|
            week|month)|each|(?:mon|tues|wednes|thurs|fri|satur|sun)days|weekends|mornings|evenings)\b.*
        """),
        0.8,
    ),
    Rule(
        StatementKind.FACT,
        compiled(rf"""
            (?:the|our|my) (?:[\w-]+ ){{0,2}}{PROJECT_NOUN}s? (?:(?:is|are) (?=an? (?!bit|mess|good|bad|nice|great|
            problem|joke|disaster)|the |our |called|named|hosted|based|written|built|stored|deployed|located|
            on (?!fire|hold|my|your|track)|in (?!a (?:bad|weird|strange)|trouble|progress|the way)|at |under |behind |
            (?-i:[A-Z0-9]))|(?:runs?(?: on)?|lives?|uses?|listens?|sits?|is hosted|are hosted|talks? to|depends? on|
            requires?|needs?|expects?|is called|are stored|is stored|has to|ships?|deploys?|points? (?:to|at)|
            belongs? to|comes? from) )(?!{STATE}|failing|throwing|returning|giving|showing|complaining|to be|to work|
            this\b|that\b|it\b|a (?:bit|mess|good|bad|nice|great)|not (?!allowed)|supposed|about to|just|because|when|
            how|what|where|also|some|your|help|more|fixing|updating|work\b|an update|love\b).+
        """),
        0.75,
    ),
)
