"""What facts are about: what their writer said, what their category says, or what the local tagger reads in them."""

from collections.abc import Callable, Sequence

from memorist.about.values import SLOTS, TIMELINE
from memorist.memories.values import Memory
from memorist.models.port import Tagger
from memorist.models.values import Passage

_TOPICS = {*SLOTS, *TIMELINE}
_OF_CATEGORIES = {
    "preference": "taste",
    "feedback": "instruction",
    "convention": "instruction",
    "pattern": "instruction",
    "commitment": "plan",
}
# Several milliseconds each: of very many at once the newest are read, and the others the next time.
MOST_READ = 2000
_MOST_KEPT = 50_000


class Topics:
    """Keeps in memory what was read, by the hash of the text."""

    def __init__(self, tagger: Callable[[], Tagger | None]) -> None:
        self._tagger = tagger
        self._read: dict[str, str] = {}

    def of(self, facts: Sequence[Memory], most_read: int = MOST_READ) -> list[str]:
        """A topic for each of the facts, which come newest first. Raises ModelError."""
        if len(self._read) > _MOST_KEPT:
            self._read = {}
        said = [_said(fact) for fact in facts]
        unsaid = {fact.content_hash: fact.content for fact, topic in zip(facts, said, strict=True) if topic is None}
        self._read_anew({key: text for key, text in unsaid.items() if key not in self._read}, most_read)
        return [topic or self._read.get(fact.content_hash, "other") for fact, topic in zip(facts, said, strict=True)]

    def _read_anew(self, texts: dict[str, str], most: int) -> None:
        chosen = list(texts.items())[:most]
        tagger = self._tagger() if chosen else None
        if tagger is None:
            return
        tags = tagger.tag([Passage(text, [(0, len(text))]) for _, text in chosen])
        for (key, _), (tag, *_) in zip(chosen, tags, strict=True):
            self._read[key] = tag.topic if tag.topic in _TOPICS else "other"


def _said(fact: Memory) -> str | None:
    topic = (fact.meta or {}).get("topic")
    if topic in _TOPICS:
        return str(topic)
    category = fact.category or ""
    return category if category in _TOPICS else _OF_CATEGORIES.get(category)
