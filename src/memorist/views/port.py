"""What a store finds for those who look on."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memorist.ingestion.values import Document
from memorist.memories.values import Memory
from memorist.platform.values import Owner, OwnerFilter
from memorist.views.values import (
    BrowsePosition,
    DayCount,
    FacetRow,
    KindCount,
    OwnerCount,
    ProjectRow,
    SessionKey,
    Stretch,
    Walk,
)


class BrowsingReads(Protocol):
    """Walks over what a caller sees."""

    def walk(
        self, walk: Walk, after: BrowsePosition | None, now: datetime, *, span: int, limit: int, texts: bool
    ) -> Stretch:
        """What may fit among the next `span` rows of a walk, at most `limit` of them.

        Every row is among them that has a text which is not of ASCII alone, or fits `walk.pattern` in any case.
        """
        ...

    def count_facets(
        self,
        user: str | None,
        after: FacetRow | None,
        now: datetime,
        limit: int,
        *,
        any_user: bool,
        entries: bool = True,
    ) -> list[FacetRow]:
        """How many memories a user has, or everybody, of each combination: the next ones in a fixed order."""
        ...

    def next_project(self, user: str | None, after: ProjectRow, *, any_user: bool) -> ProjectRow | None:
        """The project after another, in a fixed order; names of more than 1,000 bytes aside."""
        ...


class OverviewReads(Protocol):
    """Counts, and who there is."""

    def count_kinds(self, owner: OwnerFilter, now: datetime) -> list[KindCount]:
        """How many memories of each state and kind a slice has, those that `list_memories` would list."""
        ...

    def count_facts(self, owner: OwnerFilter, now: datetime) -> int:
        """How many facts a slice of one user has, those that are active now."""
        ...

    def count_days(self, owner: OwnerFilter) -> list[DayCount]:
        """How many memories of each kind a slice has of each day (UTC), those that are still there."""
        ...

    def count_waiting(self, owner: OwnerFilter, most: int) -> int:
        """How many memories of a slice's users wait for vectors; `most` at most."""
        ...

    def list_owners(self, after: Owner, limit: int, most: int) -> list[OwnerCount]:
        """Owners of memories after one of them, by user and then by agent; each count is `most` at most."""
        ...

    def count_rows(self) -> dict[str, int]:
        """How many rows there are, by table."""
        ...

    def count_dated_after(self, moment: datetime) -> tuple[int, datetime | None]:
        """How many memories and events say that they were made after a moment, and the last such time."""
        ...


class SurroundingsReads(Protocol):
    """What stands around a memory, and what a turn or a sample left behind."""

    def said_around(self, memory: Memory, session: str, before: int, after: int) -> tuple[list[Memory], list[Memory]]:
        """The last messages and tool outputs of a session before a memory of the same owner, and the first after it,
        each in their order, as far as they are not deleted.
        """
        ...

    def chunks_around(self, chunk: Memory, before: int, after: int) -> tuple[list[Memory], list[Memory]]:
        """The chunks of its document before and after one, likewise."""
        ...

    def document_chunks(
        self, document: Document, limit: int, *, after: str = "", before: str | None = None
    ) -> list[Memory]:
        """The first chunks of a document after an id or, with `before`, the last before that; in their order."""
        ...

    def list_session_ids(self, owner: Owner, session: str, limit: int) -> list[str]:
        """The memories of a session that are exactly this owner's, whatever their state, in id order."""
        ...

    def list_chunk_ids(self, owner: Owner, document_id: str, limit: int) -> list[str]:
        """The chunks of exactly this owner's document, likewise."""
        ...

    def list_learned(self, source_ref: str, limit: int) -> list[Memory]:
        """Facts of every status that name a source, oldest first."""
        ...

    def list_said(self, owner: Owner, session: str, since: datetime, until: datetime, limit: int) -> list[Memory]:
        """Messages of exactly that owner's session that were stored between two moments, in their order."""
        ...

    def last_said(self, owner: Owner, session: str, limit: int) -> list[Memory]:
        """The last messages of exactly that owner's session, in their order, also those that were deleted and may be
        restored.
        """
        ...

    def latest_sessions(
        self, owner: OwnerFilter, before: str, limit: int, said_at: datetime | None = None
    ) -> list[SessionKey]:
        """Sessions of a slice's user in which the last that was said or returned, whatever its state, was so before a
        moment, or then and is before an id: the latest first; from the beginning without a moment. Everybody's, by the
        id of their last memory of any kind alone. Agents do not count.
        """
        ...

    def conversation(
        self,
        owner: OwnerFilter,
        session: str,
        now: datetime,
        limit: int,
        *,
        after: str = "",
        before: str | None = None,
        pattern: str | None = "%",
    ) -> list[Memory]:
        """What was said and returned in a session of a slice of one user and is in use: the first after an id or, with
        `before`, the last before that; in its order. `pattern` as in a walk.
        """
        ...

    def count_conversation(self, owner: OwnerFilter, session: str, now: datetime, most: int) -> int:
        """How much that is; `most` at most."""
        ...

    def conversation_ids(self, owner: OwnerFilter, session: str, after: str, limit: int) -> list[str]:
        """The ids of what was said and returned in such a session after one, whatever its state, in id order."""
        ...

    def session_turns(self, user: str | None, session: str, limit: int) -> list[str]:
        """The turns of a user's session, the latest first."""
        ...

    def list_learned_of(self, sources: Sequence[str], limit: int) -> list[Memory]:
        """`list_learned` of several sources, `limit` of each."""
        ...
