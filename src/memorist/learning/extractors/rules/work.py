"""How things are done, what was decided, and what solved a problem."""

from memorist.learning.extractors.kinds import StatementKind
from memorist.learning.extractors.patterns import compiled
from memorist.learning.extractors.rules.nouns import CODE_THING, I_AM, I_DO, I_HAVE, STATE, WE_ARE, WE_DO, WE_HAVE
from memorist.learning.extractors.rules.rule import Rule

WORK = (
    # How it is done here.
    Rule(
        StatementKind.CONVENTION,
        compiled(rf"""
            (?:(?:in|on|for) (?:this|our|the) (?:repo\w*|project|code ?base|team|company|monorepo|service|
            app)\b,? )(?!(?:the|it|there|I)\b.*\b(?:is|are) {STATE})(?:we |always |never |use |all |every |don't |
            do not |only |tests |commits |please |no |{CODE_THING} ).+
        """),
        0.85,
    ),
    Rule(
        StatementKind.CONVENTION,
        compiled(r"""
            we (?:always|never|only|don't|do not|usually|typically|generally|normally|strictly) (?!know|think|
            have time|want|need|see|get|understand|care|like|agree|remember|live|eat|go\b|travel|visit|celebrate|
            have\b|seem|really|spend)\w+.+
        """),
        0.85,
    ),
    Rule(
        StatementKind.CONVENTION,
        compiled(r"""
            (?:our|the|team) (?:coding )?(?:convention|style|style guide|policy|standard|rule|practice|
            guideline)s? (?:here )?(?:is|are|says?|requires?)\b.+
        """),
        0.85,
    ),
    Rule(
        StatementKind.CONVENTION,
        compiled(rf"""
            (?:all|every|each|new|our) (?:\w+ ){{0,2}}{CODE_THING} (?:must|should|needs?|have to|has to|go(?:es)?|
            lives?|are|is|gets?|uses?|starts? with|ends? with|requires?) (?!{STATE}).+
        """),
        0.8,
    ),
    Rule(
        StatementKind.CONVENTION,
        compiled(rf"""
            {CODE_THING} (?:must|should|need to|have to|go in|go into|go under|live in|are named|are written|
            are always|never|always|start with|end with|begin with|contain) (?!{STATE}).+
        """),
        0.8,
    ),
    Rule(
        StatementKind.CONVENTION,
        compiled(r"""
            we (?:name|prefix|squash|rebase|lint|format|tag|version|pin|document|review|deploy|release|branch|merge|
            mock|store|keep|log|write|put|commit) (?!it\b|this\b|that\b|them\b).+
        """),
        0.75,
    ),
    Rule(
        StatementKind.CONVENTION,
        compiled(r"""
            (?:please )?(?:always|never|don't ever|do not ever) (?!mind\b|again\b|been\b|thought\b|had\b|seen\b|
            works?\b|fails?\b|happen\w*|heard\b)\w+.+
        """),
        0.8,
    ),
    Rule(
        StatementKind.CONVENTION,
        compiled(r"""
            (?:use|prefer|stick (?:to|with)) (?!it\b|this\b|that\b)[\w./@-]+(?: [\w./@-]+){0,3},? (?:instead of|
            rather than|not|never|over) .+
        """),
        0.8,
    ),
    # Decisions.
    Rule(StatementKind.DECISION, compiled(r"decision: ?(.+)"), 0.9, "Decided: {0}", by_agent=True),
    Rule(
        StatementKind.DECISION,
        compiled(rf"""
            (?:{I_DO}|{I_HAVE}|{WE_DO}|{WE_HAVE})(?:decided|agreed|settled|opted|chose|chosen|picked|committed|
            went with|gone with|ruled out|landed on|made the call)\b (?!not yet|it\b|this\b|that\b|them\b|up\b).+
        """),
        0.9,
    ),
    Rule(
        StatementKind.DECISION,
        compiled(rf"{WE_HAVE}(?:decided|agreed|settled|opted|chose|picked)\b (?!not yet).+"),
        0.8,
        by_agent=True,
    ),
    Rule(
        StatementKind.DECISION,
        compiled(r"""
            (?:decided (?:to|on|against)|going with|went with|settled on) (?!it\b|this\b|that\b|the (?:first|second|
            third|last|same|other)\b).+
        """),
        0.8,
        by_agent=True,
    ),
    Rule(
        StatementKind.DECISION,
        compiled(rf"""
            (?:{I_AM}|{WE_ARE}|we'll be |I'll be )(?:going with|sticking with|switching|migrating|moving (?:from|to|
            off|away)|dropping|replacing|adopting|keeping|deprecating|standardi[sz]ing)\b (?!it\b|this\b|that\b).+
        """),
        0.85,
    ),
    Rule(
        StatementKind.DECISION,
        compiled(r"""
            (?:let's|we'll|we will|I'll) (go with|use|stick with|stick to|switch to|keep|drop|adopt|do without|
            standardi[sz]e on|move to|settle on) (?!it\b|this\b|that\b|the (?:first|second|third|last|same|other)\b|
            going\b|an eye|you\b|(?:option|number|plan|choice|variant|version) \w+$)(.+)
        """),
        0.8,
        "Decided to {0} {1}",
    ),
    Rule(
        StatementKind.DECISION,
        compiled(rf"""
            {WE_HAVE}(?:switched|moved|migrated|replaced|dropped|adopted|standardi[sz]ed)\b (?!it\b|this\b|that\b).+
        """),
        0.85,
    ),
    # Solutions.
    Rule(
        StatementKind.SOLUTION,
        compiled(r"""
            (?:the )?(?:root cause|culprit|actual (?:problem|issue|cause)|real (?:problem|issue|cause)) (?:was|is|
            turned out to be|turns out to be)\b.+
        """),
        0.85,
        by_agent=True,
    ),
    Rule(
        StatementKind.SOLUTION,
        compiled(r"""
            the (?:\w+ ){0,4}(?:fix|solution|trick|workaround|answer|problem|issue|bug|error|failure|crash|leak|
            slowdown|timeout|cause|flakiness) (?:was(?! fixed| gone| that you)|turned out to be|is to|came from|
            comes from|was caused by|is caused by|went away (?:after|when|once)|disappeared (?:after|when|once))\b.+
        """),
        0.8,
        by_agent=True,
    ),
    Rule(
        StatementKind.SOLUTION,
        compiled(r"""
            (?:the |that )?[\w' /-]{3,60}(?:was|were|is|are|got) (?:caused by|due to|fixed by|solved by|
            resolved by)\b (?!it\b|this\b|that\b).+
        """),
        0.8,
        by_agent=True,
    ),
    Rule(
        StatementKind.SOLUTION,
        compiled(rf"""
            (?:{I_DO}|{I_HAVE}|{WE_DO}|{WE_HAVE})(?:fixed|solved|resolved|worked around|got around|
            got rid of)\b (?:.+ )?(?:by|with|using)\b.+
        """),
        0.85,
        by_agent=True,
    ),
    Rule(
        StatementKind.SOLUTION,
        compiled(r"fixed (?:it|this|that) by (?!\w+ing it$)(.+)"),
        0.6,
        "A problem was fixed by {0}",
        by_agent=True,
    ),
    Rule(StatementKind.SOLUTION, compiled(r"fixed the [\w -]+ by (?!\w+ing it$).+"), 0.85, by_agent=True),
    Rule(
        StatementKind.SOLUTION,
        compiled(r"""
            the [\w/. -]{2,50}? (?:crashed|failed|broke|hung|leaked|timed out|stalled|deadlocked|was slow|were slow|
            was failing|were failing|kept \w+ing) because .+
        """),
        0.8,
        by_agent=True,
    ),
    Rule(
        StatementKind.SOLUTION,
        compiled(r"""
            what (?:finally |actually |eventually )?(?:worked|fixed it|helped|solved it) (?:was|is)\b.+
        """),
        0.8,
    ),
    Rule(
        StatementKind.SOLUTION,
        compiled(r"""
            (?!I\b|it\b|that\b|this\b|which\b|you\b|nothing\b|yours?\b)[\w`'./=-]+(?: [\w`'./=-]+){0,9} (?:fixed|
            solved|resolved|cured) (?:it|the|my|our|this|that)\b.*
        """),
        0.8,
    ),
    Rule(
        StatementKind.SOLUTION,
        compiled(r"""
            (?:it )?turn(?:s|ed) out (?:that |to be )?(?!fine|great|ok|well|good|nice|delicious|to be (?:fine|great|
            nothing))(?:the |we |our |a |an |\w+ing |[\w.-]+ (?:had|was|were|is|needs|needed|did|does) ).+
        """),
        0.75,
    ),
)
