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

# How something is at the moment.
STATE = phrases(r"""
    (?:(?:currently|still|now|again|really|so|very|too|completely|totally) )*(?:down|broken|failing|slow|red|green|
    stuck|hanging|crashing|flaky|not working|working|fine|ok|okay|up|back|ready|done|empty|full|missing|wrong|weird|
    great|good|bad|nice|here|there|gone|late|delayed|hard|easy|a mess|a pain|driving|complaining|asking|trying|getting|
    going|sick|tired|sleeping|asleep|coming|visiting|in the way|due for|acting|being|annoying|amazing|awesome|cute|
    so)\b
""")
CODE_THING = phrases(r"""
    (?:tests?|commits?|branches|branch names|pull requests|prs|migrations?|endpoints?|modules?|files?|functions?|
    classes|components?|variables|imports?|errors?|logs?|timestamps?|dates|ids?|secrets?|queries|sql|types?|releases|
    deploys|docs|docstrings|comments|changelogs?|dependencies|packages|configs?|routes|handlers|services|hooks|styles|
    strings|tags|versions|tables|columns|fixtures|mocks|warnings|features|flags|names|money|amounts|prices|everything|
    code)
""")
