"""What has changed, and what somebody likes, avoids or always wants."""

from memorist.learning.extractors.kinds import StatementKind
from memorist.learning.extractors.patterns import compiled
from memorist.learning.extractors.rules.nouns import I_AM, I_DO, I_HAVE, NOW
from memorist.learning.extractors.rules.rule import Rule

TASTES = (
    # What is no longer so, or was so once.
    Rule(
        StatementKind.FACT, compiled(rf"(?:I no longer|{I_DO}(?:stopped|quit|gave up)|I don't .+ any ?more)\b.+"), 0.85
    ),
    Rule(
        StatementKind.FACT,
        compiled(r"""
            I used to (?:live|work|be|have|run|play|smoke|drink|weigh|study|teach|own)\b.+
        """),
        0.75,
    ),
    Rule(
        StatementKind.FACT,
        compiled(rf"""
            (?:{I_DO}|{I_HAVE})(?:moved|switched|relocated|changed jobs|transferred|upgraded) (?:from .+ )?(?:to|
            in)\b.+
        """),
        0.85,
    ),
    # Preferences.
    Rule(StatementKind.PREFERENCE, compiled(rf"{I_DO}(?:prefer|favou?r|would rather|would prefer)\b (?!{NOW}).+"), 0.9),
    Rule(StatementKind.PREFERENCE, compiled(rf"I'd (?:rather|prefer|much rather|much prefer)\b (?!{NOW}).+"), 0.8),
    Rule(
        StatementKind.PREFERENCE,
        compiled(rf"""
            {I_DO}(?:like|love|enjoy|adore|hate|dislike|loathe|can't stand|cannot stand|detest|
            don't (?:really )?(?:like|enjoy|care for)|do not like) (?!{NOW}|the\b).+
        """),
        0.8,
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(rf"""
            {I_DO}(?:avoid|can't (?:eat|have|drink|tolerate|do|take)|cannot (?:eat|have|drink|tolerate|take)|
            don't (?:eat|drink|do|use|want to work|fly|drive at|work on)|do not (?:eat|drink)|eat|skip|stick to|
            work best|study best|learn best|keep kosher|keep halal) (?!{NOW}|the\b|anything about|anything with).+
        """),
        0.8,
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(r"""
            I don't want (?:any(?!thing (?:else|about))|(?:to \w+ )?(?:more|less|longer|later|earlier) than|
            to (?:drive|fly|walk|spend|eat|share|camp|stay|work on|work with|depend on|rely on)) .+
        """),
        0.75,
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(r"""
            I can (?:only )?(?:train|work|meet|travel|exercise|talk|work out|come|attend|join|spend|
            go) .*(?:times? a (?:day|week|month)|per (?:day|week|month)|hours?|(?:mon|tues|wednes|thurs|fri|satur|
            sun)days?|weekends?|mornings?|evenings?|afternoons?|budget)\b.*
        """),
        0.75,
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(r"prefer (?!{NOW}).+(?: over | to | instead of ).+".replace("{NOW}", NOW)),
        0.75,
        "I {whole}",
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(r"(?:please )?only (?:call|contact|e-?mail|text|message|send|show|suggest|recommend|use) .+"),
        0.8,
        "Standing request of the user: {whole}",
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(rf"{I_DO}(?:never|don't|always) (?:eat|drink|fly|travel|book|buy|wear)\b.+"),
        0.8,
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(rf"""
            {I_AM}(?:an? )?(?:strict |lifelong |lacto-ovo )?(?:vegetarian|vegan|pescatarian|teetotal\w*|kosher|halal|
            gluten[- ]free|lactose[- ]intolerant|allergic|intolerant|sensitive to|not a fan|(?:a )?(?:big |
            huge )?fan of|more of an?|an? (?:early bird|night owl|morning person|window seat)|not into|not big on|
            picky about)\b.*
        """),
        0.85,
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(r"""
            my (?:favou?rite|preferred|go-to|usual|default) [\w' -]+ (?:is|are|has always been) .+
        """),
        0.9,
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(r"""
            (?:please |just )?call me (?!(?:back|when|if|later|at|on|tomorrow|crazy)\b)(\S+(?: \S+)?)$
        """),
        0.9,
        "User wants to be called {0}",
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(r"""
            (?:please )?(?:from now on|going forward|in (?:the )?future|from here on|as a rule|by default|
            whenever you (?:answer|reply|write|suggest)[^,]*),? (?:please )?(?:always |never )?(?!I\b|we\b|the\b|
            it\b)(.+)
        """),
        0.85,
        "Standing request of the user: {whole}",
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(r"""
            (?:please )?(?:always|never|don't ever|do not ever|stop) (?:answer\w*|reply\w*|respond\w*|explain\w*|
            call\w*|us(?:e|ing) (?:emojis?|bullet points|tables|metric|imperial|markdown|headings)|add\w* (?:emojis?|
            disclaimers?)|apologi[sz]\w*|suggest\w*|remind\w*|ask\w*|write to me|send\w*|show\w*|giv\w+|includ\w+|
            recommend\w*|summari[sz]\w*|schedul\w*|book\w*|convert\w*|translat\w*)\b.+
        """),
        0.85,
        "Standing request of the user: {whole}",
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(rf"""
            {I_DO}(?:always|usually|mostly|normally|typically|exclusively|primarily) (?:use|go with|order|take|sit)\b.+
        """),
        0.75,
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(r"""
            I use (?!it|this|that|the\b|your|a lot|these|them)\S+.*(?: for | as | instead of | on my | every |, not ).+
        """),
        0.75,
    ),
    Rule(
        StatementKind.PREFERENCE,
        compiled(r"""
            I (?:want|need|expect|would like) you to (?:always|never|be|keep|answer|use|speak|respond)\b.+
        """),
        0.8,
    ),
)
