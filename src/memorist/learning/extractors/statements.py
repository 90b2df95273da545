"""From a message to the statements that its speaker makes: what is quoted, pasted, injected or asked is left out. Pure.

Nothing is cut away: what is left out is painted over, character for character, so that every statement is still a
stretch of the message itself.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from memorist.learning.extractors.patterns import compiled, phrases
from memorist.learning.extractors.sentences import GAP, sentence_spans

QUOTED = "\x02"
"""Painted over quoted words within a sentence."""

# People state things in sentences; what is longer was made by a program, or is a list of everything.
_LONGEST_SENTENCE = 500


@dataclass(frozen=True, slots=True)
class Statement:
    """One clause of a sentence, without what leads into it, and the sentence as it stands in the message."""

    text: str
    excerpt: str


def statements(message: str, own: str) -> Iterator[Statement]:
    """What the speaker states in `own_words`. Questions, jokes, guesses and what is taken back are no statements."""
    painted = _QUOTE.sub(_paint_quote, own)
    sentences = [(start, end) for start, end in sentence_spans(painted) if end - start <= _LONGEST_SENTENCE]
    for index, (start, end) in enumerate(sentences):
        sentence = painted[start:end]
        after = painted[slice(*sentences[index + 1])] if index + 1 < len(sentences) else ""
        if _JOKE.search(sentence) or _TAKEN_BACK.match(after):
            continue
        stated = _before_question(sentence)
        for clause in _clauses(stated) if stated else ():
            text = _plain(clause)
            if text and QUOTED not in text and not _GUESS.search(text):
                yield Statement(text, message[start:end].strip())


def own_words(message: str) -> str:
    """The message with everything painted over that somebody or something else wrote."""
    painted = message.replace("\r", " ").replace("\t", " ").replace("’", "'").replace(GAP, " ").replace(QUOTED, " ")
    painted = _without_tagged(painted)
    for pattern in _FOREIGN:
        painted = pattern.sub(lambda match: GAP * len(match[0]), painted)
    return painted


def is_about_a_text(own: str) -> bool:
    """Whether a message asks for something to be done with words that are not meant, such as a translation."""
    return _TASK_ON_TEXT.match(own.strip(f" \n{GAP}")[:200]) is not None


def sets_a_fiction(own: str) -> bool:
    """Whether a message asks for something invented, so that what follows may be about that."""
    return _FICTION.match(own.strip(f" \n{GAP}")[:200]) is not None


def without_supposed(own: str) -> str:
    """The message with everything painted over that follows from what is only supposed: "Let's say I earn 40k." """
    for start, end in sentence_spans(own):
        if _SUPPOSES.match(own, start, end):
            ended = _FOR_REAL.search(own, end)
            last = ended.start() if ended else len(own)
            return f"{own[:start]}{GAP * (last - start)}{own[last:]}"
    return own


def is_a_guess(text: str) -> bool:
    """Whether something is only considered, guessed or supposed."""
    return _GUESS.search(text) is not None


def is_a_joke(text: str) -> bool:
    return _JOKE.search(text) is not None


def is_mostly_quoted(text: str) -> bool:
    """Whether more than half of the words are somebody else's."""
    words = len(text.split())
    return words - len(_QUOTE.sub(_paint_quote, text).replace(QUOTED, "").split()) > words / 2


# What others wrote

_PASTE_NOUN = phrases(r"""
    logs?|output|errors?|trace(?:back)?|stack ?trace|readme(?:\.md)?|docs?|documentation|e-?mail|messages?|article|
    ticket|issue|spec|post|page|review|lyrics|letter|file|config|response|snippet|text|paragraph|abstract|essay|
    story|tweet|comments?|chat|transcript|contract|policy|advert|job ad|description|c\.?v\.?|resume|poem|quote|
    instructions|manual|results?|headers?|payload|json|yaml|csv|table|data
""")
SPEECH_VERB = "says?|said|wrote|writes|reads?|told (?:me|us)|replied|posted|e-?mailed|claims?|states?"
_FOREIGN = [
    # Fences first: what they hold may look like anything else.
    re.compile(r"```.*?(?:```|\Z)", re.DOTALL),
    re.compile(r"~~~.*?(?:~~~|\Z)", re.DOTALL),
    # What Memorist or a client adds, where it is not closed.
    re.compile(r"<\s*(?:memor(?:y|ies)|system-reminder|context|documents?|tool[\w-]*|search[\w-]*)\b.*", re.DOTALL),
    re.compile(r"^\d+ memor(?:y|ies) loaded:[ ]*\n(?:[ ]*\n|#{2,3} .*\n|- .*(?:\n|\Z))*", re.MULTILINE),
    re.compile(r"^[ ]*- \(\d{4}-\d\d-\d\d\) .*$", re.MULTILINE),
    re.compile(r"^[ ]*>.*$", re.MULTILINE),
    # A line that announces foreign words, and all that follows it.
    re.compile(
        rf"(?:^|(?<=[.!?] ))[^.!?\n]*\b(?:(?:{_PASTE_NOUN})\b[^.!?\n]{{0,40}}|(?:{SPEECH_VERB})\b[^.!?\n]{{0,20}})"
        r":[ ]*\n[\s\S]*",
        re.MULTILINE | re.IGNORECASE,
    ),
    # Lines that a program wrote.
    compiled(
        r"""
        ^(?:[ ]{4,}(?![-*•\d]).*|
        [ ]*(?:\d{4}-\d\d-\d\d[T ]\d\d:|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL|TRACE)\b|at \S+\(|Traceback|File "|
        \$ |>>> |@@ |diff --git|[{}\[\]]|npm ERR|[+-](?=\S)(?![-–—])).*|
        [ ]*[\w.-]+=\S+)$
        """,
        re.MULTILINE,
    ),
    re.compile(r"https?://\S+"),
]
_OPENING = re.compile(r"<(?P<tag>[A-Za-z][\w-]*)(?:\s[^<>\n]*)?>")
_CLOSING = re.compile(r"</\s*(?P<tag>[A-Za-z][\w-]*)\s*>")


def _without_tagged(text: str) -> str:
    """Paint over what stands in tags: what Memorist or a client adds, and what people put around what they paste."""
    closings: dict[str, deque[re.Match[str]]] = {}
    for closing in _CLOSING.finditer(text):
        closings.setdefault(closing["tag"], deque()).append(closing)
    pieces: list[str] = []
    done = at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        at = opening.end()
        after = closings.get(opening["tag"], deque())
        while after and after[0].start() < at:
            after.popleft()
        if after:
            at = after[0].end()
            pieces += [text[done : opening.start()], GAP * (at - opening.start())]
            done = at
    return "".join([*pieces, text[done:]])


_QUOTE = re.compile(r"\"[^\"\n]{1,600}\"|“[^”\n]{1,600}”|«[^»\n]{1,600}»|(?<![\w'])'(?=\w)[^'\n]{12,600}'(?!\w)")


def _paint_quote(match: re.Match[str]) -> str:
    # One or two words in quotes are a name or a term; more are what somebody said.
    return match[0] if len(match[0].split()) < 3 else QUOTED * len(match[0])


# What is to be done with a text is said in its first words; the text is not what the user states.
_TASK_ON_TEXT = compiled(r"""
    (?:(?:hi|hey|hello|ok|okay|now|please|can you|could you|would you|help me|i need you to|i want you to|let'?s)\b|
    [\s,!.])*
    (?:translate|proof-?read|rephrase|paraphrase|rewrite|reword|summari[sz]e|fix (?:the|my) (?:grammar|spelling)|
    correct (?:the|this|my)|polish|edit (?:this|my|the following)|improve (?:this|my|the following)|
    role-?play|pretend|act (?:as|like)|imagine(?! my| how| being)|play a game|respond as|answer as|
    you are (?:now )?an? |
    (?:write|draft) (?:me |us )?(?:a |an |the |some )?(?:\w+ ){0,2}(?:story|poem|song|haiku|limerick|dialogue?|speech|
    scene|essay|monologue|tweet|post|bio|script|review|diary|character|
    (?:letter|e-?mail|message|reply)(?! (?:to|for) (?:my|our)\b))|
    how (?:do|would) (?:you|i) say|what does .* mean)\b
""")

_FICTION = compiled(r"""
    (?:(?:hi|hey|hello|ok|okay|now|please|can you|could you|would you|help me|i want you to|let'?s)\b|[\s,!.])*
    (?:role-?play|pretend|act (?:as|like)|imagine(?! my| how| being)|play a (?:game|character)|
    (?:write|draft|tell|invent|make up) (?:me |us )?(?:a |an |the |some )?(?:\w+ ){0,2}
    (?:story|poem|song|dialogue?|scene|monologue|script|diary|character|novel|tale))\b
""")

# What is supposed goes on in the sentences after it, up to where somebody says that it does not.
_SUPPOSES = compiled(r"""
    (?:(?:ok(?:ay)?|so|now|and|but|well|hey|hi|just|for (?:example|the sake of argument))\b[\s,!.:]*){0,4}
    (?:let'?s (?:just )?(?:say|assume|suppose|imagine|pretend) (?:that )?
    (?:i'?m?|we|my|our|you|he|she|they|there|someone|somebody)\b|
    suppose(?! so\b| not\b)|supposing|say (?:i|we) (?!no\b|yes\b|that\b|so\b)|
    assume (?:that )?(?:i|we|my|our)\b|imagine (?:that )?(?:i|we)\b(?! (?:will|won't|can|can't|might|must)\b)|
    hypothetically|in a hypothetical|pretend (?:that )?(?:i|we|you|my)\b)
""")
_FOR_REAL = compiled(r"""
    (?:(?<=[.!?\n] )|(?<=\n))(?:(?:ok(?:ay)?|but|so|now)\b[\s,]*){0,3}
    (?:for real|in reality|in real life|irl|actually|really|seriously|the truth is|i really|in truth)\b
""")

# Sentences

_QUESTION_AFTER = compiled(r"""
    (?:,|;| -| –| —)\s+(?:so |and |but )?(?:what|which|how|can|could|do|does|did|is|are|should|would|will|where|when|
    who|why|any|have you|right)\b[^,;]*\?$
""")


def _before_question(sentence: str) -> str | None:
    """The sentence, or what it states before it asks; None where it only asks."""
    sentence = sentence.rstrip(" )\"'*")
    if not sentence.endswith("?"):
        return sentence
    asked = _QUESTION_AFTER.search(sentence)
    return sentence[: asked.start()] if asked else None


_JOKE = compiled(r"""
    \b(?:lol|lmao|rofl|haha+|hehe+|jk|just kidding|yeah,? right|said no one|as if|who doesn't|of course not)\b|
    (?<!\w)/s\b|\bnot!$|\boh,? (?:great|joy|sure|yes|wonderful)\b|\bjust (?:love|adore)\b|\bsure,? because\b|
    \b(?:believe|trust) me\b|\bi swear\b|
    [🙄😂🤣😉😏😜]|;-?\)
""")
_TAKEN_BACK = compiled(r"""
    [\s"'(*]*(?:(?:no|oh|ok|okay|actually|wait|hmm|well|sorry)[,.!\s]+)*(?:just |only |i'm |i was )*
    (?:kidding|joking|jk\b|scratch that|never ?mind|forget (?:that|it|what i)|ignore that|not really|wait,? no|lol|haha|
    /s|on second thought|i changed my mind)
""")

# Clauses

_CLAUSE = compiled(r"""
    (?<!\s)\s*(?:;|:|—|–|,? and|,? but|,? so|,? plus|, also|,)\s+(?:also |then )?
    (?=(?:I|I'm|I've|I'll|I'd|we|we're|we've|we'll|my|our)\b)|
    (?:;|, and|, but)\s+(?=(?:(?:the|all|every|each) )?[\w-]+(?: [\w-]+)? (?:is|are|must|should|goes?|runs?|
    lives?|uses?|needs?|starts?|has|have|works?|gets?|takes?)\b)
""")
_HAS_SUBJECT = re.compile(r"[\W_]*(?:(?:and|but|so|actually|no|yes|also),? )*(?:I|we|my|our)\b", re.IGNORECASE)


def _clauses(sentence: str) -> Iterator[str]:
    """The parts of a sentence that have a subject of their own; a reason stays with what it is the reason of."""
    start = 0
    for found in _CLAUSE.finditer(sentence):
        # A comma alone parts two statements only where the first has a subject, too: not in "On Sundays, I …".
        if found[0].strip() != "," or _HAS_SUBJECT.match(sentence[start : found.start()]):
            yield sentence[start : found.start()]
            start = found.end()
    yield sentence[start:]


_LEAD_IN = compiled(r"""
    (?:(?:[-*•#>]+|\d+[.)])\s+|[*_`]{1,3}(?=\w)|
    [a-z]+[,!] (?=(?:I|I'm|I've|I'll|we|we're|we've|my|our)\b)|
    (?:ok(?:ay)?|well|so|and|but|also|oh|yes|yep|yeah|no|nope|sure|thanks(?: (?:a lot|so much|again))?|thank you|hi|
    hello|hey(?: there| team)?|actually|sorry|btw|by the way|fyi|for (?:the record|context|reference|what it's worth|
    your information)|just (?:so you know|to be clear|a heads[- ]up|fyi)|to be clear|(?:please )?note(?: that)?|
    remember(?: that)?|(?:please )?keep in mind(?: that)?|don't forget(?: that)?|correction|update|edit|heads[- ]up|
    one more thing|first(?:ly| of all)?|second(?:ly)?|finally|anyway|honestly|personally|in general|generally|
    as (?:i|we) said|like i said|as (?:i )?mentioned|background|context|p\.?s\.?|good (?:morning|evening|afternoon|
    news)|great|perfect|cool|nice|right|hm+|ugh|huh|aha|alright|ah|important|
    i (?:just )?wanted to (?:say|mention|add|let you know)
    (?: that)?|i (?:should|forgot to|have to) (?:mention|add|say|admit)(?: that)?|you should know(?: that)?|as you know|
    plus|then|unfortunately|luckily|sadly|side ?note|reminder|to answer your question|my bad|wait|i mean|i meant|
    quick note|small correction|that's wrong|not quite|wrong|there)\b[\s,:;!.…–—-]+)+
""")
_TAIL = compiled(r"""
    (?<![\s,.!…:;)*_])
    (?:[\s,.!…:;)*_]|\b(?:please|thanks|thank you|by the way|btw|fyi|though|tho|as well|anyway|too|actually|honestly|
    to be honest|tbh|for what it's worth|if that (?:helps|matters)|just so you know|in case that matters|you know))+$
""")
# What is asked, beside what is stated: "I'm pregnant and wondering what I may eat".
_ASIDE = compiled(r"""
    ,? (?:and|so|but) (?:I'm |I am |I was |was |am )?(?:wondering|curious|not sure|want(?:ed)? to (?:know|ask)|
    looking for|need (?:some |a bit of )?(?:help|advice|ideas|tips|suggestions)|would like to know|I wonder)\b.*$|
    ,? (?:so |and |but )?(?:can|could|would|will) you\b.*$|, here's what\b.*$|
    , (?:so |and |but )?(?:how|what|which|where|when|should|do|does|is|are|can|could) (?:I|you|we|my|it|there|this|
    the)\b.*$
""")
_MARK_UP = re.compile(r"\*\*|__|`")
_SMALL_I = re.compile(r"\bi(?=\s|'(?:m|ve|ll|d)\b)")


def _plain(clause: str) -> str:
    text = " ".join(clause.split())
    lead = _LEAD_IN.match(text)
    text = _ASIDE.sub("", _MARK_UP.sub("", text[lead.end() :] if lead else text))
    return _SMALL_I.sub("I", _TAIL.sub("", text).strip())


_GUESS = compiled(r"""
    \b(?:maybe|perhaps|might|possibly|probably|likely|not sure|unsure|unclear|i guess|i suppose|i think|i believe|
    i feel like|kind of|kinda|sort of|sorta|wonder(?:ing)?|thinking (?:of|about)|think about|consider(?:ing)?|tempted|
    debating|torn between|whether|suppose|imagine|hypothetical(?:ly)?|what if|would be (?:nice|cool|great)|
    could(?! not|n't)|(?:i|we) should|let's say|say (?:i|we)|pretend|wish|if only|for example|e\.g\.|for instance|
    seems?|seemed|apparently|supposedly|allegedly|reportedly|some ?day|one day|
    at some point|(?:haven't|not|have not)
    (?: yet)? decided|can't decide|deciding between|no idea|don't know|do not know|would(?: not|n't)? (?:have|be)|
    almost|nearly|pretty sure|not certain)\b|
    ^(?:if|unless|in case|assuming|when i was (?:going|about)|should)\b|\bi'd (?:say|guess|be)\b
""")
