"""What people leave out who type in a hurry: "im a nurse", "just bought a van". Pure."""

import re

from memorist.languages import is_english
from memorist.learning.extractors.patterns import compiled, phrases

# German "im" is followed by a noun, which has a capital.
_BARE = re.compile(
    r"\b(?:(?P<am>im(?= [a-z\d]))|(?P<have>(?:i|you|we|they)ve)|(?P<are>(?:you|they)re)|(?P<is>(?:he|she|that|what)s)|"
    r"(?P<is_not>(?:do|does|did|is|are|was|were|have|has|had|could|would|should|ca|wo)nt))\b(?!['’])",
    re.IGNORECASE,
)
# What only somebody does or did who is not named. Not what may be an order ("quit asking"), nor an adjective.
_DID = phrases(r"""
    adopted|applied|became|began|booked|bought|broke (?:my|up)|built|came (?:back|from|home|out)|cancelled|canceled|
    did my|downgraded|dropped out|enrolled|failed|fell|finished|found|gave (?:up|birth|my)|got|graduated|grew up|
    handed in|had|hired|joined|left(?! (?:hand|side|over|wing|foot|leg|arm|eye|ear|knee|shoulder))|lost|met|migrated|
    moved|ordered|paid|passed|quit(?! \w+ing\b)|quit(?= \w+ing .*\b(?:ago|last|since)\b)|ran|sold|spent|started|
    stopped|switched|took|tore|upgraded|used to|was (?:born|diagnosed|raised)|went|won|wrote|can't|couldn't|haven't|
    never (?:\w+ed|had|took|ate|drank|learnt)
""")
_DOES = phrases(r"""
    dating|doing|drinking|driving|eating|expecting|flying|gigging|going|learning|leaving|living|moving|planning|playing|
    reading|renting|running|saving|seeing|starting|staying|studying|taking|teaching|thinking of|training|trying|using|
    visiting|working|writing
""")
_ADVERBS = r"(?:(?:just|also|finally|recently|already|actually|currently|still|now|even|really) )*"
_DID_SO = re.compile(rf"{_ADVERBS}(?:{_DID})\b(?=,? [\w$€£])", re.IGNORECASE)
_DOES_SO = re.compile(rf"{_ADVERBS}(?:{_DOES})\b(?=,? [\w$€£])", re.IGNORECASE)
# "Running a business isn't easy" says nothing of who runs one.
_SAYS_OF_IT = compiled(r"""
    [^,;.!]*?\b(?:is|isn't|are|aren't|was|wasn't|were|has|have|had|can|can't|will|won't|would|helps?|makes?|made|takes?|
    took|keeps?|gives?|gave|feels?|felt|means?|seems?|sounds?|needs?|requires?|costs?|really|sucks?|hurts?)\b
""")
# "Got it" says nothing, and "lost causes are my thing" has its subject.
_NOT_THEIRS = re.compile(r"\w+ (?:it|that|this|you|what)\b|\w+(?: \w+){1,2} (?:is|are|was|were)\b", re.IGNORECASE)


def spelled_out(sentence: str) -> str:
    """The sentence with the apostrophes that were left out."""
    if _BARE.search(sentence) is None or not is_english(sentence):
        return sentence
    return _BARE.sub(_with_apostrophe, sentence)


def with_subject(clause: str) -> str:
    """A clause that leaves out who it is about, "just bought a van", with "I" before it; any other as it is."""
    if clause.endswith("?") or not is_english(clause):
        return clause
    if _DID_SO.match(clause) and not _NOT_THEIRS.match(clause):
        return f"I {clause[:1].lower()}{clause[1:]}"
    doing = _DOES_SO.match(clause)
    if doing is not None and _SAYS_OF_IT.match(clause, doing.end()) is None:
        return f"I'm {clause[:1].lower()}{clause[1:]}"
    return clause


def _with_apostrophe(match: re.Match[str]) -> str:
    word = match[0]
    if match["am"]:
        return f"I'{word[1:]}"
    ending = 1 if match["is"] or match["is_not"] else 2
    return f"{word[:-ending]}'{word[-ending:]}"
