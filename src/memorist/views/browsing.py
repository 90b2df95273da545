"""Browsing: everything that a caller sees, in every state but the last, searched as it is typed, narrowed and sorted.

No list is counted or searched to its end before something is shown. A page is looked for span by span, for a few
hundredths of a second; what a rare word or filter has not found by then the next page goes on with. So each request is
short, whatever there is, and nothing is left out.
"""

import heapq
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

from memorist.memories import lifecycle
from memorist.memories.accesses import AccessLog
from memorist.memories.entries import note_reading
from memorist.memories.policy import Policy
from memorist.memories.values import ENDS_FROM, Kind, Memory, Status, Trust
from memorist.platform import access, folding, validation
from memorist.platform.paging import Cursors, id_part, number_part
from memorist.platform.values import OwnerFilter, Principal
from memorist.ports import Reader, Store
from memorist.times import Clock, from_micros
from memorist.views.facet_counts import FacetCounts
from memorist.views.values import Browse, BrowseCandidate, BrowsedPage, BrowseOrder, BrowsePosition, Facets, Walk

LASTING = (Status.ACTIVE, Status.ARCHIVED, Status.SOFT_DELETED, Status.HARD_DELETE_PENDING)
"""The states that can be browsed."""

MAX_TEXT = 200

_CURSORS: Cursors[BrowsePosition] = Cursors(
    "browse",
    lambda position: position,
    lambda importance, micros, memory_id: BrowsePosition(
        number_part(importance), number_part(micros), id_part("mem", memory_id)
    ),
)
_BUDGET_S = 0.025
_SPAN = 500
_LONGEST_SPAN = 8000
# A span that took less is followed by a longer one, one that took more by a shorter one.
_QUICK_S = 0.008
_CANDIDATES = 200


class Browsing:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        accesses: AccessLog,
        policy: Callable[[Reader], Policy],
        *,
        budget_s: float = _BUDGET_S,
    ) -> None:
        """`policy` says which is in force; `budget_s` how long one call looks before it answers with what it has."""
        self._policy = policy
        self._store = store
        self._clock = clock
        self._accesses = accesses
        self._budget_s = budget_s
        self._facets = FacetCounts(store, clock, budget_s=budget_s)

    def page(
        self, principal: Principal, browse: Browse | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> BrowsedPage:
        """A page of what the caller sees. Deleted memories are shown to those who may restore them.

        Paging neither skips nor repeats a row, whatever is written meanwhile, unless somebody changes the importance
        that a list is sorted by. Raises InvalidField or InvalidCursor.
        """
        browse = _checked(browse or Browse())
        validation.page_limit(limit)
        now = self._clock.now()
        words = tuple(dict.fromkeys(folding.fold(browse.text).split()))
        fits = folding.near_patterns(words) if browse.fuzzy else words
        filters = (principal.tenant, principal.user, principal.agent, browse)
        after = _CURSORS.decode(cursor, filters)

        def work(tx: Reader) -> tuple[list[Memory], BrowsePosition | None]:
            look = _PageSearch(tx, fits, now, limit + 1, self._budget_s)
            walks = list(_walks(principal, browse, words))
            policy = self._policy(tx)
            if tx.aging.has_expired(now):
                walks += [ended for walk in walks for ended in _ended(walk, lifecycle.archiving(policy))]
            positions, end = look.collect(walks, browse.order, after, limit)
            rows = tx.memories.get_many([position.id for position in positions])
            found = {memory.id: lifecycle.as_swept(memory, policy, now) for memory in rows}
            return [found[position.id] for position in positions], end

        memories, end = self._store.read(principal.tenant, work)
        items = tuple(self._accesses.overlay(memory) for memory in memories)
        note_reading(self._store, principal, items, now)
        if end is None:
            return BrowsedPage(items, None)
        return BrowsedPage(items, _CURSORS.encode(end, filters), from_micros(end.created_at))

    def facets(self, principal: Principal, browse: Browse | None = None) -> Facets:
        """What the memories that the caller sees can be narrowed down to: `state`, `profile`, `category`, `kind` and
        `trust`, each counted while the others stay as chosen; and the first projects. Texts and projects do not count.

        Raises InvalidField.
        """
        browse = _checked(browse or Browse())
        return self._facets.of(principal, browse)


# Looking


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of a walk: a memory that fits or, where `fits` is False, how far was looked."""

    position: BrowsePosition
    fits: bool


@dataclass(frozen=True, slots=True)
class _PageSearch:
    """One search of a page."""

    tx: Reader
    words: tuple[str | re.Pattern[str], ...]
    now: datetime
    most: int
    budget_s: float

    def collect(
        self, walks: Sequence[Walk], order: BrowseOrder, after: BrowsePosition | None, limit: int
    ) -> tuple[list[BrowsePosition], BrowsePosition | None]:
        """At most `limit` memories in their order, and where to go on; None where there are no more."""
        until = time.perf_counter() + self.budget_s
        found: list[BrowsePosition] = []
        steps = [self._steps(walk, after) for walk in walks]
        for step in heapq.merge(*steps, key=_KEYS[order], reverse=order is not BrowseOrder.OLDEST):
            if step.fits:
                if len(found) == limit:
                    return found, found[-1]
                found.append(step.position)
            elif time.perf_counter() > until:
                return found, step.position
        return found, None

    def _steps(self, walk: Walk, after: BrowsePosition | None) -> Iterator[_Step]:
        if walk.order is not BrowseOrder.IMPORTANCE:
            return self._walked(walk, after)
        # Those without an importance come after all that have one.
        rest = replace(walk, order=BrowseOrder.NEWEST, most_importance=0)
        if after is not None and after.importance <= 0:
            return self._walked(rest, after)
        return chain(self._walked(walk, after), self._walked(rest, None))

    def _walked(self, walk: Walk, after: BrowsePosition | None) -> Iterator[_Step]:
        span = _SPAN
        position = after
        while True:
            began = time.perf_counter()
            limit = max(self.most, _CANDIDATES) if self.words else self.most
            stretch = self.tx.browsing.walk(walk, position, self.now, span=span, limit=limit, texts=bool(self.words))
            fitting = [one.position for one in stretch.candidates if _fits(one, self.words)]
            took = time.perf_counter() - began
            yield from (_Step(position, fits=True) for position in fitting)
            if stretch.end is None:
                return
            position = stretch.end
            yield _Step(position, fits=False)
            span = min(span * 2, _LONGEST_SPAN) if took < _QUICK_S else max(span // 2, _SPAN)


# A memory comes before a mark at its position, which may be another walk's: what is marked has been seen.
_KEYS: dict[BrowseOrder, Callable[[_Step], tuple[Any, ...]]] = {
    BrowseOrder.NEWEST: lambda step: (*step.position[1:], step.fits),
    BrowseOrder.OLDEST: lambda step: (*step.position[1:], not step.fits),
    BrowseOrder.IMPORTANCE: lambda step: (max(step.position.importance, 0), *step.position[1:], step.fits),
}


def _walks(principal: Principal, browse: Browse, words: Sequence[str]) -> Iterator[Walk]:
    """Each slice in each state: one walk of one index; the merge of a few beats any OR in SQL."""
    # What is not spelt so is looked for here.
    pattern = _pattern(()) if browse.fuzzy else _pattern(words)
    for status in dict.fromkeys(browse.statuses):
        slices = access.slices_of(principal, in_use=status.in_use)
        for part in _narrowed(slices, browse.agent):
            yield Walk(
                part,
                status,
                browse.order,
                pattern=pattern,
                category=browse.category,
                kind=browse.kind,
                trust=browse.trust,
                project=browse.project,
                session=browse.session,
                since=browse.since,
                before=browse.before,
            )


def _ended(walk: Walk, archiving: frozenset[Kind]) -> list[Walk]:
    """What is past its own time and was not swept, walked to where a sweep brings it."""
    from_states = ENDS_FROM.get(walk.status, ())
    return [replace(walk, status=status, ended=walk.status, archiving=archiving) for status in from_states]


def _narrowed(slices: Iterable[OwnerFilter], agent: str | None) -> list[OwnerFilter]:
    """The part of the slices that is one agent's, or no agent's where it is ''."""
    if agent is None:
        return list(slices)
    wanted = agent or None
    return [replace(part, agent=wanted, any_agent=False) for part in slices if part.any_agent or part.agent == wanted]


def _pattern(words: Sequence[str]) -> str | None:
    """What the database looks for: the longest word that a text of ASCII can have; the others are looked for here."""
    if not words:
        return "%"
    ascii_words = [word for word in words if word.isascii()]
    return folding.like_pattern(max(ascii_words, key=len)) if len(ascii_words) == len(words) else None


def _fits(candidate: BrowseCandidate, words: Sequence[str | re.Pattern[str]]) -> bool:
    texts = [folding.fold(text) for text in (candidate.content, candidate.name, candidate.description) if text]
    return all(any(_occurs(word, text) for text in texts) for word in words)


def _occurs(word: str | re.Pattern[str], text: str) -> bool:
    return word in text if isinstance(word, str) else word.search(text) is not None


def _checked(browse: Browse) -> Browse:
    """The same with every value in its type. Raises InvalidField."""
    validation.text("text", browse.text, longest=MAX_TEXT, empty=True)
    lines = (
        ("category", browse.category),
        ("agent", browse.agent),
        ("project", browse.project),
        ("session", browse.session),
    )
    for field, value in lines:
        if value is not None:
            validation.text(field, value, longest=validation.MAX_LINE, empty=True)
    statuses = tuple(validation.choice("state", status, Status) for status in browse.statuses)
    return replace(
        browse,
        statuses=tuple(status for status in statuses if status in LASTING),
        kind=None if browse.kind is None else validation.choice("kind", browse.kind, Kind),
        trust=None if browse.trust is None else validation.choice("trust", browse.trust, Trust),
        order=validation.choice("order", browse.order, BrowseOrder),
    )
