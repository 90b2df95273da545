"""Subjects, nouns and verbs that several rules share."""

from memorist.learning.extractors.patterns import phrases

ADVERB = phrases(r"""
    (?:(?:really|very much|always|usually|generally|typically|often|mostly|mainly|still|also|now|currently|definitely|
    absolutely|strongly|particularly|especially|normally|only|never|rarely|recently|finally|already|personally|
    officially|regularly|much|far|simply|deliberately|sometimes|strictly|just|both|all) )*
""")
I_DO = rf"I {ADVERB}"
I_AM = rf"(?:I'm|I am) {ADVERB}"
I_HAVE = rf"(?:I've|I have) {ADVERB}"
WE_DO = rf"we {ADVERB}"
WE_ARE = rf"(?:we're|we are) {ADVERB}"
WE_HAVE = rf"(?:we've|we have|we) {ADVERB}"

# What a like or a wish of the moment is about.
NOW = phrases(r"""
    it\b|this\b|that\b|something\b|anything\b|one\b|these\b|those\b|them\b|him\b|her\b|you\b|your\b|how\b|what\b|
    when\b|where\b|the (?:idea|way|sound|look|new|first|second|third|last|one|other|result|design|change|approach|
    suggestion|answer|plan|name|color|colour)|to (?:be honest|know|see|hear|ask|say|point|talk|discuss|chat|try|check|
    order|book|return|cancel|speak|report)|a (?:lot|bit)\b|our chat|talking to
""")
# A task for this conversation rather than something that the user is after.
TASK = phrases(r"""
    (?:know|see|hear|ask|say|understand|make sure|check|verify|thank|try|show|talk|discuss|mention|add|fix|refactor|
    change|rename|remove|delete|update|implement|create|generate|print|debug|test|run|install|use|call|pass|parse|
    convert|replace|move|merge|commit|push|rebase|revert|deploy|import|export|write (?:a )?(?:test|function|script|
    query|class)|be clear|be sure|go over|look|find out|figure out|confirm|clarify|report|complain|order|book|cancel|
    return|track|speak|pay|get (?:a|my|the) (?:refund|quote|copy|list|summary)|start by|begin with|focus|share|
    give you|tell)\b
""")
# Nouns that a user has for longer than a moment.
HAVES = phrases(r"""
    (?:kids?|children|child|sons?|daughters?|brothers?|sisters?|twins?|siblings?|dogs?|cats?|pets?|puppy|kitten|
    horses?|wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|baby|toddler|grand\w+|nephews?|nieces?|diabetes|
    asthma|epilepsy|adhd|anxiety|depression|arthritis|celiac|coeliac|hypothyroidism|insomnia|migraines?|hypertension|
    high blood pressure|eczema|psoriasis|sleep apnea|apnoea|lactose|ibs|allerg\w+|intolerance|condition|injury|
    pacemaker|herniated \w+|bad (?:knee|back|shoulder)|history of|degree|phd|master's|mortgage|pension|
    dual citizenship|passport|visa|green card|car|house|apartment|flat|garden|piano|guitar|bike|motorcycle|boat|
    macbook|thinkpad|subscription|plan|account|membership|savings|loan|peanut|nut|shellfish|gluten|penicillin)
""")
KIN = phrases(r"""
    (?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|spouse|son|daughter|kids?|children|baby|toddler|mother|
    father|mom|mum|dad|parents?|brother|sister|twins?|grandmother|grandfather|grandma|grandpa|aunt|uncle|cousin|niece|
    nephew|dog|cat|puppy|kitten|horse|boss|manager|team lead|doctor|therapist|cardiologist|dentist|landlord|roommate|
    flatmate|best friend|in-laws|mother-in-law|father-in-law|eldest|oldest|youngest|middle child|neighbou?r|nanny|
    babysitter|accountant|tax advis[eo]r|neurologist|gynaecologist|gynecologist|gp|psychiatrist|physio(?:therapist)?|
    dermatologist|vet|oncologist|surgeon|nutritionist|dietitian|trainer|coach|carer|lawyer)
""")
OWNED = phrases(r"""
    (?:name|full name|nickname|birthday|anniversary|age|height|weight|blood type|resting (?:hr|heart rate)|heart rate|
    hrv|address|home|hometown|time ?zone|phone(?: number)?|job|role|title|company|employer|salary|income|budget|rent|
    mortgage|savings rate|risk tolerance|native language|mother tongue|pronouns|diet|allerg\w+|blood pressure|
    cholesterol|passport|visa|car|laptop|phone|machine|setup|editor|ide|shell|keyboard|operating system|os|
    order(?: number)?|account(?: number| id)?|customer (?:number|id)|plan|subscription|membership|
    booking(?: reference)?|flight|train|hotel|reservation|appointment|surgery|deadline|exam|interview|wedding|due date|
    contract|lease|commute|shift|work(?:ing)? hours|office|start date|bedtime|wake-?up time|github (?:handle|username)|
    username|e-?mail)
""")
PROJECT_NOUN = phrases(r"""
    (?:api|db|database|server|deploy(?:ment)? target|staging|production|prod|repo(?:sitory)?|service|ci|pipeline|build|
    frontend|front end|backend|back end|app|cluster|queue|cache|registry|monorepo|codebase|project|schema|migrations?|
    tests?|docs|website|site|domain|bucket|cdn|gateway|load balancer|worker|scheduler|auth(?:entication)?|logs?|
    metrics|dashboard|linter|formatter|package manager|python version|node version|stack|tech stack|entry ?point|
    config(?:uration)?|main branch|default branch|release branch|release (?:cycle|train)|sprint|on-?call|
    data ?warehouse|vpc|region)
""")
# How something is at the moment.
STATE = phrases(r"""
    (?:(?:currently|still|now|again|really|so|very|too|completely|totally) )*(?:down|broken|failing|slow|red|green|
    stuck|hanging|crashing|flaky|not working|working|fine|ok|okay|up|back|ready|done|empty|full|missing|wrong|weird|
    great|good|bad|nice|here|there|gone|late|delayed|hard|easy|a mess|a pain|driving|complaining|asking|trying|getting|
    going|sick|tired|sleeping|asleep|coming|visiting|in the way|due for|acting|being|annoying|amazing|awesome|cute|
    so)\b
""")
LIFE_GOAL = phrases(r"""
    (?:learn|lose|gain|run|save|quit|stop|cut (?:down|back|out)|improve|lift|lower|reduce|raise|increase|get (?:better|
    fit|down|up to|rid of|off|over|promoted|certified|fitter|stronger|healthier|my|into|in shape|under|below|above|
    to [\w ]+ (?:by|before))|become|move|relocate|retire|buy|visit|travel|hike|climb|cycle|swim|write a (?:book|novel)|
    publish|launch|ship|release|migrate|read (?:more|\d+|one)|sleep|build (?:muscle|up|a habit)|finish|complete|pass|
    graduate|start (?:a|my|running|swimming|saving|investing|meditating)|pay off|invest|meditate|exercise|train|walk|
    drink (?:less|more)|eat (?:less|more|healthier)|spend (?:less|more)|switch (?:careers?|jobs?)|find a (?:new )?job|
    grow|reach|hit|stay (?:under|below|sober|fit|healthy|within)|beat|qualify|prepare|open a|rewrite|modernise|
    modernize)\b
""")
THIS_TASK = phrases(r"""
    .*\b(?:this|that|these|those) (?:ticket|task|file|function|feature|test|bug|pr|branch|page|class|script|query|
    endpoint|module|one|issue|problem|error|leak|memory leak|purpose|step)\b
""")
BY_WHEN = phrases(r"""
    .*\b(?:by|before|within|until|in|over|this|next|on)\s+(?:the (?:end|next)|next|this|\d|january|february|march|
    april|may|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|
    sunday|spring|summer|autumn|fall|winter|year|month|week|weekend|quarter|q[1-4]|tomorrow|tonight|christmas|easter|
    six|two|three|four|five|ten|twelve|eod|noon)\b
""")
CODE_THING = phrases(r"""
    (?:tests?|commits?|branches|branch names|pull requests|prs|migrations?|endpoints?|modules?|files?|functions?|
    classes|components?|variables|imports?|errors?|logs?|timestamps?|dates|ids?|secrets?|queries|sql|types?|releases|
    deploys|docs|docstrings|comments|changelogs?|dependencies|packages|configs?|routes|handlers|services|hooks|styles|
    strings|tags|versions|tables|columns|fixtures|mocks|warnings|features|flags|names|money|amounts|prices|everything|
    code)
""")
