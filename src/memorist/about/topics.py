"""What facts are about: what their writer said, what their category says, or what the local tagger reads in them."""

import threading
from collections.abc import Callable, Sequence
from itertools import islice

from memorist.about.values import OTHER, SLOTS, TIMELINE
from memorist.memories.values import Memory
from memorist.models.fair_share import AT_LEISURE, in_background
from memorist.models.port import Tagger
from memorist.models.values import Passage
from memorist.platform.loop import Loop

_TOPICS = {*SLOTS, *TIMELINE}
_OF_CATEGORIES = {
    "preference": "taste",
    "feedback": "instruction",
    "convention": "instruction",
    "pattern": "instruction",
    "commitment": "plan",
}
# Several milliseconds each: of very many at once the newest are read, and the others the next time or later.
MOST_READ = 2000
_MOST_KEPT = 50_000
_AT_ONCE = 32
_NEVER_S = 86_400.0


class Topics:
    """Keeps in memory what was read, by the hash of the text."""

    def __init__(self, tagger: Callable[[], Tagger | None], *, background: bool = True) -> None:
        self._tagger = tagger
        self._read: dict[str, str] = {}
        self._waiting: dict[str, str] = {}
        self._lock = threading.Lock()
        self._background = background
        self._loop = Loop("topics", self._read_waiting, _NEVER_S, background=background)
        self.version = 0
        """Another one once facts that were `other` have topics."""

    @property
    def count(self) -> int:
        """How many were read."""
        return len(self._read)

    def close(self) -> None:
        self._loop.close()

    def of(self, facts: Sequence[Memory], most_read: int = MOST_READ, *, rest_later: bool = False) -> list[str]:
        """A topic for each of the facts, which come newest first. With `rest_later` those that are not read now are
        read in the background; what waits there already is left to it, unless all can be read now. Raises ModelError.
        """
        if len(self._read) > _MOST_KEPT:
            self._read = {}
        said = [_said(fact) for fact in facts]
        unsaid = {fact.content_hash: fact.content for fact, topic in zip(facts, said, strict=True) if topic is None}
        unread = {key: text for key, text in unsaid.items() if key not in self._read}
        is_left = rest_later and len(unread) > most_read
        self._read_anew(
            {key: text for key, text in unread.items() if not (is_left and key in self._waiting)}, most_read
        )
        if is_left and self._tagger() is not None:
            self._leave({key: text for key, text in islice(unread.items(), MOST_READ) if key not in self._read})
        return [topic or self._read.get(fact.content_hash, OTHER) for fact, topic in zip(facts, said, strict=True)]

    def _leave(self, texts: dict[str, str]) -> None:
        if not self._background:
            self.version += 1  # The next who asks reads on.
            return
        with self._lock:
            self._waiting |= texts
        self._loop.start()
        self._loop.wake()

    def _read_waiting(self) -> None:
        if not self._waiting:
            return
        try:
            while self._waiting and not self._loop.stopping:
                with self._lock:
                    some = dict(islice(self._waiting.items(), _AT_ONCE))
                with in_background(AT_LEISURE):
                    self._read_anew({key: text for key, text in some.items() if key not in self._read}, _AT_ONCE)
                with self._lock:
                    self._waiting = {key: text for key, text in self._waiting.items() if key not in some}
        finally:
            self.version += 1  # Also where it failed: the next who asks has it tried again.

    def _read_anew(self, texts: dict[str, str], most: int) -> None:
        chosen = list(texts.items())[:most]
        tagger = self._tagger() if chosen else None
        if tagger is None:
            return
        tags = tagger.tag([Passage(text, [(0, len(text))]) for _, text in chosen])
        for (key, _), (tag, *_) in zip(chosen, tags, strict=True):
            self._read[key] = tag.topic if tag.topic in _TOPICS else OTHER


def _said(fact: Memory) -> str | None:
    topic = fact.meta_text("topic")
    if topic in _TOPICS:
        return topic
    category = fact.category or ""
    return category if category in _TOPICS else _OF_CATEGORIES.get(category)
