"""What a store keeps for every feature: events, requests, keys, sign-ins and jobs."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from memorist.platform.values import (
    ApiKey,
    Event,
    FeedPage,
    FeedPosition,
    FeedRow,
    IdempotencyRecord,
    Job,
    JobStatus,
    OwnerFilter,
    RedactionNote,
    SignIn,
    SpentDay,
)


class EventReads(Protocol):
    """The history of memories."""

    def of(self, memory_ids: Sequence[str]) -> list[Event]:
        """The history of these memories, oldest first."""
        ...

    def latest(self, memory_id: str, limit: int) -> list[Event]:
        """The last events of a memory, newest first."""
        ...

    def redactions(self, before: int | None, limit: int) -> list[RedactionNote]:
        """What redaction took out of memories that are there, newest first, before the number of an event."""
        ...


class EventWrites(EventReads, Protocol):
    """The same in a transaction that writes."""

    def append(self, events: Iterable[Event]) -> None: ...


class FeedReads(Protocol):
    """Changes in the order of their commits."""

    def read(self, after: FeedPosition, limit: int) -> FeedPage:
        """The next events of the tenant. None will appear later at or before the position of the last one."""
        ...

    def back(self, before: FeedPosition, limit: int) -> list[FeedRow]:
        """The events before a position, newest first."""
        ...

    def last(self, most: int) -> list[FeedRow]:
        """What was done to facts that are there among the last `most` events, newest first."""
        ...

    def head(self) -> FeedPosition:
        """The position of the last event that `read_feed` would give."""
        ...

    def has_given(self, position: FeedPosition) -> bool:
        """Whether a position may be one of this feed: it has come so far, and was not numbered anew since."""
        ...

    def foreign_until(self) -> int:
        """The last event that bears a number which this database has yet to give, as where it was restored from another
        server; 0 where there is none. Asked in a read of one state.
        """
        ...


class FeedWrites(FeedReads, Protocol):
    """The same in a transaction that writes."""

    def restart(self, until: int) -> int:
        """Number the events up to this one anew, in their order; positions from before are then none of this feed."""
        ...


class RequestReads(Protocol):
    """Remembered requests."""

    def find(self, principal: str, route: str, key: str) -> IdempotencyRecord | None: ...


class RequestWrites(RequestReads, Protocol):
    """The same in a transaction that writes."""

    def insert(self, record: IdempotencyRecord) -> bool:
        """False where the key is taken."""
        ...

    def drop_expired(self, now: datetime) -> int: ...


class KeyReads(Protocol):
    """API keys."""

    def all(self) -> list[ApiKey]: ...


class KeyWrites(KeyReads, Protocol):
    """The same in a transaction that writes."""

    def insert(self, key: ApiKey) -> None: ...

    def revoke(self, key_id: str, at: datetime) -> bool: ...

    def revoke_all(self, at: datetime) -> int: ...

    def touch(self, uses: Mapping[str, datetime]) -> None: ...


class SignInReads(Protocol):
    """Links and sessions of the dashboard, and tokens of users."""

    def sessions(self, now: datetime, limit: int) -> list[SignIn]:
        """Who is signed in to the dashboard, newest first."""
        ...


class SignInWrites(SignInReads, Protocol):
    """The same in a transaction that writes."""

    def insert(self, token_hash: str, sign_in: SignIn) -> None: ...

    def delete(self, token_hash: str) -> bool:
        """False where it was not there: of two that use a link, one may."""
        ...

    def end_tokens(self, user: str) -> int:
        """Remove the tokens of a user; how many there were."""
        ...

    def drop_expired(self, now: datetime) -> int: ...


class JobReads(Protocol):
    """Work that was promised."""

    def get(self, job_id: str) -> Job | None: ...

    def has_due(self, now: datetime) -> bool: ...

    def page(
        self, owner: OwnerFilter, before_id: str | None, limit: int, *, status: JobStatus | None, kind: str | None
    ) -> list[Job]:
        """Jobs of a slice, newest first, those before an id."""
        ...

    def count(self, owner: OwnerFilter, most: int) -> dict[JobStatus, int]:
        """How many jobs of a slice there are of each status; `most` at most, of those that are not done together."""
        ...


class JobWrites(JobReads, Protocol):
    """The same in a transaction that writes."""

    def insert(self, job: Job) -> Job:
        """The job, or the one that was added before under its kind and key."""
        ...

    def claim(self, now: datetime, until: datetime, limit: int) -> list[Job]:
        """Jobs that are due, as their next attempt has them; nobody else's until then."""
        ...

    def hold(self, job_id: str) -> bool:
        """Whether the job is there; nobody else holds it, finishes it or drops it before this transaction ends."""
        ...

    def extend(self, job: Job, until: datetime) -> bool:
        """Keep a job until then for the attempt that `job` is. False where it was given to another one meanwhile, or
        that one has noted something since.
        """
        ...

    def finish(self, job: Job) -> bool:
        """Note how the attempt that `job` was ended. False where the job was given to another one meanwhile."""
        ...

    def retry(self, job_id: str, now: datetime) -> bool:
        """Make a job due now. False where it is done or gone."""
        ...

    def drop(self, job_id: str) -> bool: ...

    def drop_done(self, before: datetime) -> int: ...


class SpendingReads(Protocol):
    """What calls of language models took."""

    def spent(self, since: datetime) -> float:
        """What of the budget was spent since a day began, in dollars, also on turns that were erased."""
        ...

    def days(self, since: datetime) -> list[SpentDay]:
        """What the calls of each day took, from one on, in their order; none of days without calls."""
        ...


class SpendingWrites(SpendingReads, Protocol):
    """The same in a transaction that writes."""

    def add(self, spent: SpentDay, *, budgeted: bool) -> None:
        """Count what calls of a day took; `budgeted`: their cost counts towards the budget."""
        ...
