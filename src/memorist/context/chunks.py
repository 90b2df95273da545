"""What coding assistants keep: statements about a project, searched by substring and shown when a session starts."""

import heapq
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice

from memorist.context.port import Remember
from memorist.context.section import CHUNK_HEADINGS
from memorist.context.values import ChunkCandidate, ChunkQuery
from memorist.errors import InvalidField
from memorist.memories.accesses import AccessLog
from memorist.memories.entries import note_reading
from memorist.memories.values import Draft, Governor, Memory, Remembered, Trust
from memorist.platform import access, folding, validation
from memorist.platform.values import OwnerFilter, Principal
from memorist.ports import Reader, Store
from memorist.times import Clock

CATEGORIES = tuple(CHUNK_HEADINGS)

MAX_FOUND = 100
MAX_RECENT = 20

# What is shown without being asked for comes from the newest of what is at least this relevant.
_HIGH_RELEVANCE = 0.5
_RECENT = 200
_PAGE = 200


class Chunks:
    def __init__(self, store: Store, clock: Clock, accesses: AccessLog, remember: Remember) -> None:
        """`remember` stores what is stated, and has it compared with what is known."""
        self._store = store
        self._clock = clock
        self._accesses = accesses
        self._remember = remember

    def remember(
        self,
        principal: Principal,
        content: str,
        category: str,
        *,
        session: str | None = None,
        project: str | None = None,
        excerpt: str | None = None,
        relevance: float = 1.0,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Store one chunk. The same content of the same category and project is written once, whatever the session.
        An empty session or project is none.

        Raises InvalidField, Forbidden, IdempotencyMismatch, IdempotencyInFlight or StoreError.
        """
        _category(category)
        draft = Draft(
            content,
            category=category,
            project=_given(project, one_line=True),
            excerpt=excerpt,
            relevance=relevance,
            trust=Trust.AGENT,
            governed_by=Governor.CODING_ASSISTANT,
            # Beside the memory, not as its session: it outlives that, and comes again in others.
            meta={"session_id": validation.identifier("session", session)} if session else None,
        )
        principal = replace(principal, session=None)
        return self._remember(principal, [draft], idempotency_key=idempotency_key)[0]

    def search(
        self,
        principal: Principal,
        query: str = "",
        *,
        category: str | None = None,
        project: str | None = None,
        min_relevance: float = 0.0,
        limit: int = 20,
    ) -> list[Memory]:
        """The newest memories with the query in their content or excerpt, in any case; the reads are counted.

        Only those with one of `CATEGORIES` are searched, whichever door wrote them. An empty project is none, so that
        all are. Raises InvalidField.
        """
        validation.text("query", query, longest=validation.MAX_QUERY, empty=True)
        validation.page_limit(limit, largest=MAX_FOUND)
        validation.fraction("min_relevance", min_relevance)
        project = _given(project)
        filters = self._filters(category, None if project is None else (validation.project(project),), min_relevance)
        folded = folding.fold(query)
        filters = replace(filters, pattern=folding.like_pattern(folded))
        slices = access.visible_slices(principal)
        now = self._clock.now()

        def work(tx: Reader) -> list[Memory]:
            found = (one for one in _newest(tx, filters, slices, now) if _matches(one, folded))
            return _in_order(tx.memories.get_many([one.memory_id for one in islice(found, limit)]))

        found = self._store.read(principal.tenant, work)
        note_reading(self._store, principal, found, now)
        return [self._accesses.record_read(memory, now) for memory in found]

    def recent(self, principal: Principal, *, project: str | None = None, limit: int = 5) -> list[Memory]:
        """What a session should begin with: of the newest memories the most relevant, and where no profile is named no
        profile's. Raises InvalidField.

        In a folder below a project, those of that project are among them. An empty project is none.
        """
        validation.page_limit(limit, largest=MAX_RECENT)
        project = _given(project)
        projects = None if project is None else validation.projects_around(project)
        filters = self._filters(None, projects, _HIGH_RELEVANCE)
        slices = access.shown_slices(principal)
        now = self._clock.now()

        def work(tx: Reader) -> list[Memory]:
            newest = islice(_newest(tx, filters, slices, now), _RECENT)
            return _in_order(tx.memories.get_many([one.memory_id for one in newest]))

        found = self._store.read(principal.tenant, work)
        best = sorted(found, key=relevance_of, reverse=True)[:limit]
        note_reading(self._store, principal, best, now)
        return [self._accesses.overlay(memory) for memory in best]

    def _filters(self, category: str | None, projects: tuple[str, ...] | None, min_relevance: float) -> ChunkQuery:
        if category is not None:
            _category(category)
        return ChunkQuery(OwnerFilter(), category=category, projects=projects, min_relevance=min_relevance)


def relevance_of(memory: Memory) -> float:
    """How relevant a memory is; fully, where nobody said."""
    return 1.0 if memory.relevance is None else memory.relevance


def _category(category: str) -> str:
    if category not in CATEGORIES:
        raise InvalidField.of("category", f"must be one of {', '.join(CATEGORIES)}.")
    return category


def _given(project: str | None, *, one_line: bool = False) -> str | None:
    """A project as it was given; None for an empty one. Raises InvalidField."""
    if project is not None:
        validation.text("project", project, longest=validation.MAX_LINE, empty=True, one_line=one_line)
    return project if project and project.strip() else None


def _newest(
    tx: Reader, filters: ChunkQuery, slices: tuple[OwnerFilter, ...], now: datetime
) -> Iterator[ChunkCandidate]:
    """Candidates of all slices, newest first, read page by page as they are needed."""
    walks = [
        (one for page in tx.context.find_chunks(replace(filters, owner=part), now, _PAGE) for one in page)
        for part in slices
    ]
    return heapq.merge(*walks, key=lambda one: (one.created_at, one.memory_id), reverse=True)


def _matches(candidate: ChunkCandidate, folded: str) -> bool:
    return folding.contains(candidate.content, folded) or folding.contains(candidate.excerpt, folded)


def _in_order(memories: list[Memory]) -> list[Memory]:
    return sorted(memories, key=lambda memory: (memory.created_at, memory.id), reverse=True)
