"""The first candidates as they are in the database now, and as the reranker reads them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import overload

import numpy as np

from memorist.memories.searchable import Standing, as_turn, is_turn, searchable, standing
from memorist.memories.values import Kind, Memory
from memorist.models import passages
from memorist.recall.candidates import Candidates
from memorist.recall.meant import NEAR_UNREAD
from memorist.recall.question import Asked
from memorist.recall.ranking import Places
from memorist.recall.scored import Scored

_MORE = 8
_ENOUGH = 500
"""Where candidates say the same, twice as many as are lacking are read beside them, and at least so many; then twice as
many again, and so on, until it is enough."""

_AROUND = 6
"""Candidates whose turns before and after are read with them: the reranker seldom reads more."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The best of what was scored, best first, with the memories that were read for them."""

    scored: Scored
    places: Places
    memories: dict[str, Memory]
    """By id; also the turns around those that are reranked."""

    read: Callable[[Sequence[str]], Iterable[Memory]]
    """How others are read, by their ids."""

    _at: dict[int, Memory] = field(default_factory=dict)
    """By place, those that were looked for."""

    _shown: dict[int, bool] = field(default_factory=dict)
    """By place, whether the asker may see it, where that was looked at."""

    def is_outdated(self) -> bool:
        """Whether a shelf has a row that it will not hear of again: erased or given away, here or elsewhere."""
        return not all(map(self._is_shown, self.places.tolist()))

    def still_wanted(self) -> list[int]:
        """The places whose memories are still what the index said they were: they may have changed since."""
        return [place for place in self.places.tolist() if self._is_wanted(place)]

    def of_different(self, count: int) -> "Pool":
        """The same with one of those that say the same, and with others instead, so that there are `count` again."""
        asked, more, places = count, _MORE // 2, self.places
        while True:
            different = self._different(places)
            if different.size >= count or places.size < asked or asked >= _ENOUGH:
                return replace(self, places=different[:count])
            more = 2 * max(more, count - different.size)
            asked = min(asked + more, _ENOUGH)
            places = self.scored.first(asked)
            ids = self.scored.candidates.ids.at(places.tolist())
            unread = [one for one in ids if one not in self.memories]
            self.memories.update({memory.id: memory for memory in self.read(unread)})

    def _different(self, places: Places) -> Places:
        """Of those that say the same the best, or a newer one that fits as well."""
        unknown = [place for place in places.tolist() if place not in self._at]
        for place, one in zip(unknown, self.scored.candidates.ids.at(unknown), strict=True):
            if one in self.memories:
                self._at[place] = self.memories[one]
        found = [(place, self._at.get(place)) for place in places.tolist()]
        if len({memory.content_hash for _, memory in found if memory is not None}) == len(found):
            return places  # As mostly: what follows takes its time.
        alike: dict[object, list[int]] = {}
        for place, memory in found:
            said = what_is_said(memory) if memory is not None and self._is_wanted(place) else place
            alike.setdefault(said, []).append(place)
        weighted = self.scored.weighted
        near = NEAR_UNREAD * weighted[places[0]]
        chosen = []
        for first, *others in alike.values():
            as_good = [one for one in others if weighted[first] - weighted[one] <= near]
            chosen.append(max(first, *as_good, key=self._moment) if as_good else first)
        return np.array(chosen, dtype=np.intp)

    def _moment(self, place: int) -> tuple[datetime, str]:
        memory = self.memory_at(place)
        return memory.event_time or memory.created_at, memory.id

    def of_first(self, count: int) -> "Pool":
        """The same with no more than so many of them."""
        return replace(self, places=self.places[:count])

    def memory_at(self, place: int) -> Memory:
        memory = self._find(place)
        assert memory is not None
        return memory

    def passages(self, places: Sequence[int]) -> "Passages":
        """Candidates as the reranker reads them: their best window, who said it and when, and the turns around it."""
        return Passages(self._written, places)

    def _written(self, places: Sequence[int]) -> list[str]:
        around = [one for one in _turns_around(self.scored.candidates, places) if one not in self.memories]
        if around:
            self.memories.update({memory.id: memory for memory in self.read(around)})
        return [self._passage(place) for place in places]

    def _passage(self, place: int) -> str:
        memory = self.memory_at(place)
        parts = searchable(memory)
        before, after = self.scored.candidates.turns_around(place) if is_turn(memory) else (-1, -1)
        return passages.reranking_passage(
            self.scored.excerpt(place, memory),
            speaker=parts.speaker,
            date=parts.date,
            previous=parts.context or self._turn(before),
            following=self._turn(after),
        )

    def _turn(self, place: int) -> str:
        return as_turn(self.memory_at(place)) if place >= 0 and self._is_wanted(place) else ""

    def _is_wanted(self, place: int) -> bool:
        return self._is_shown(place) and _may_come_back(self.memory_at(place), self.scored.candidates.asked)

    def _is_shown(self, place: int) -> bool:
        found = self._shown.get(place)
        if found is None:
            memory = self._find(place)
            if memory is None:
                return False
            found = self._shown[place] = self.scored.candidates.asked.shows(memory)
        return found

    def _find(self, place: int) -> Memory | None:
        found = self._at.get(place)
        if found is None and (found := self.memories.get(self.scored.candidates.ids[place])) is not None:
            self._at[place] = found
        return found


class Passages(Sequence[str]):
    """Each is written when it is first looked at: most questions are answered after a few of them."""

    def __init__(self, write: Callable[[Sequence[int]], Sequence[str]], places: Sequence[int]) -> None:
        self._write = write
        self._places = places
        self._known: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        chosen = self._places[at]
        return self._at([chosen])[0] if isinstance(chosen, int) else self._at(chosen)

    def _at(self, places: Sequence[int]) -> list[str]:
        if unknown := [place for place in places if place not in self._known]:
            self._known.update(zip(unknown, self._write(unknown), strict=True))
        return [self._known[place] for place in places]


def ids_to_read(scored: Scored, places: Places, *, reranked: bool) -> list[str]:
    """The candidates, and the turns around the first of them where they are reranked."""
    wanted = dict.fromkeys(scored.candidates.ids.at(places.tolist()))
    if reranked:
        wanted.update(dict.fromkeys(_turns_around(scored.candidates, places[:_AROUND].tolist())))
    return list(wanted)


def what_is_said(memory: Memory) -> object:
    """Equal where messages, or facts, say the same of the same one: whoever is told one of them knows all."""
    if memory.kind not in (Kind.FACT, Kind.CHAT_MESSAGE):
        return memory.id
    of_whom = tuple(memory.meta_text(name) for name in ("role", "speaker", "about"))
    # Who gave one of them a deadline means it apart from the other.
    said = (memory.content_hash, memory.expires_at)
    return (memory.kind, memory.user, memory.project, memory.name, of_whom, said)


def _turns_around(candidates: Candidates, places: Sequence[int]) -> list[str]:
    around = [turn for place in places for turn in candidates.turns_around(place) if turn >= 0]
    return candidates.ids.at(around)


def _may_come_back(memory: Memory, asked: Asked) -> bool:
    if memory.is_expired(asked.now):
        return False
    asks_for_past = asked.question.as_of is not None or asked.question.known_at is not None
    now = standing(memory)
    return now is Standing.LIVE or (now is Standing.RETIRED and asks_for_past)
