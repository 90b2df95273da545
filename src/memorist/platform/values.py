"""Who is calling, whose a thing is, and the values of keys, events, jobs and remembered requests."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

ERASED = "erased"
"""The type of the events that tell of an erasure."""
UNTOLD = "untold"
"""What the payload of one holds where only its user is told of it."""


class Role(StrEnum):
    """What a credential may do; `platform.access` holds the rules."""

    ADMIN = "admin"
    SERVICE = "service"
    USER = "user"
    READER = "reader"


SEALED_TEXT = "\n\ue000"
"""How a text begins that is encrypted; no text of a single line does. It has a character that is not of ASCII, so that
statements which compare texts leave that to us.
"""


class Seal(StrEnum):
    """How a column is kept where its tenant is encrypted."""

    TEXT = "text"
    """As another text or other bytes each time."""
    EQUAL = "equal"
    """As the same for the same value, so that the database can tell whether two are equal, and nothing more."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling. The tenant always comes from the credential, never from a request.

    `agent_vouched`: the credential itself stands for the agent, or may act for any. An agent that a user merely names
    is a choice among the user's own profiles; what all users of that agent share is not opened by it.
    """

    tenant: str
    role: Role
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    key_id: str | None = None
    source: str = "library"
    agent_vouched: bool = True
    on_behalf: bool = False
    """The credential is not the user's own: it acts for them."""
    agent_bound: bool = False
    """The credential was made for one agent, and not for a user who may name any."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose memory: a user's, an agent's, a user's with one agent, or (neither) the whole tenant's; or nobody's."""

    user: str | None = None
    agent: str | None = None

    @property
    def is_nobody(self) -> bool:
        """Whether it is known no more whose it was: who looks after the whole tenant sees it, and no one else."""
        return False

    @property
    def has_name(self) -> bool:
        return self.user is not None or self.agent is not None

    @classmethod
    def of_row(cls, user: str | None, agent: str | None, *, anonymized: bool) -> "Owner":
        """Whose a memory is of which these are stored: one that was anonymized names neither, and is not shared."""
        return NOBODY if anonymized and not user and not agent else cls(user or None, agent or None)


@dataclass(frozen=True, slots=True)
class _Nobody(Owner):
    """Not equal to the tenant, which has no name either."""

    @property
    def is_nobody(self) -> bool:
        return True


NOBODY: Owner = _Nobody()


@dataclass(frozen=True, slots=True)
class OwnerFilter:
    """A slice of memories by owner. `user` or `agent` None matches rows without one; `any_*` matches all."""

    user: str | None = None
    agent: str | None = None
    any_user: bool = False
    any_agent: bool = False
    entries: bool = True
    """False leaves out what only its user reads: the entries of the companion."""

    def matches(self, owner: Owner) -> bool:
        is_user = self.any_user or (owner.user == self.user and not owner.is_nobody)
        return is_user and (self.any_agent or owner.agent == self.agent)


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a memory's history. `seq` is given by the database and orders a tenant's events."""

    memory_id: str
    event_type: str
    source: str
    created_at: datetime
    actor: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0


class FeedPosition(NamedTuple):
    """A position in a tenant's feed of changes: the transaction that wrote an event, and the event's number."""

    change: int
    seq: int


@dataclass(frozen=True, slots=True)
class HiddenOwner:
    """Whose an erased memory was, told only to those who know: salted hashes of the user and the agent."""

    salt: str
    user: str
    agent: str

    @classmethod
    def of(cls, owner: Owner, salt: str) -> "HiddenOwner":
        # No user has that name.
        user = " " if owner.is_nobody else owner.user
        return cls(salt, cls.hide(salt, user), cls.hide(salt, owner.agent))

    @staticmethod
    def hide(salt: str, name: str | None) -> str:
        return "" if name is None else hashlib.sha256(f"{salt}\0{name}".encode()).hexdigest()

    def is_in(self, part: OwnerFilter) -> bool:
        is_user = part.any_user or self.hide(self.salt, part.user) == self.user
        return is_user and (part.any_agent or self.hide(self.salt, part.agent) == self.agent)


# Events that leave a memory as it was, or that go along with one that does not.
_NO_CHANGES = frozenset(
    {
        "deduplicated",
        "doubt_dismissed",
        "doubt_reopened",
        "extracted",
        "extraction_failed",
        "judged",
        "read_for_user",
        "redacted",
        "supersedes",
    }
)


class FeedRow(NamedTuple):
    """An event in the feed. Of an erased memory the id is 32 hexadecimal digits and the owner hidden."""

    position: FeedPosition
    memory_id: str
    event_type: str
    at: datetime
    owner: Owner | HiddenOwner | None
    source: str = ""
    actor: str | None = None
    is_entry: bool = False
    """Whether only its user reads the memory, or did."""

    @property
    def is_change(self) -> bool:
        return self.event_type not in _NO_CHANGES

    def is_in(self, slices: Iterable[OwnerFilter]) -> bool:
        """Whether it is of somebody whose memories these are, and not of an entry where those are left out."""
        owner = self.owner
        parts = [part for part in slices if part.entries or not self.is_entry]
        if isinstance(owner, HiddenOwner):
            return any(owner.is_in(part) for part in parts)
        return owner is not None and any(part.matches(owner) for part in parts)


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Events in the order of their commits. `has_unsafe`: some are not shown, since one before them may yet appear."""

    rows: tuple[FeedRow, ...]
    is_last: bool
    has_unsafe: bool


@dataclass(frozen=True, slots=True)
class Change:
    """That a memory changed, without its text. Pass `position` back to go on from there."""

    position: str
    action: str
    memory_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Tenant:
    """The isolation boundary."""

    id: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A credential as stored: the secret itself is kept nowhere, only its SHA-256."""

    id: str
    tenant: str
    secret_hash: str
    role: Role
    created_at: datetime
    user: str | None = None
    agent: str | None = None
    label: str | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    expires_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether it was not revoked, and its time is not over."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class SignInKind(StrEnum):
    LINK = "link"
    SESSION = "session"
    TOKEN = "token"


@dataclass(frozen=True, slots=True)
class SignIn:
    """A link to the dashboard that works once, or a session there, which stands for a key; or a token that a key gave
    out, which stands for the user, agent and role that it names.
    """

    kind: SignInKind
    key: ApiKey
    created_at: datetime
    expires_at: datetime
    role: Role | None = None
    user: str | None = None
    agent: str | None = None


class TokenRights(StrEnum):
    """What the holder of a user's token may do; who writes also reads."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class UserToken:
    """A token for a page in a browser, as it is shown, once, to whoever asked for it."""

    token: str
    user: str
    agent: str | None
    rights: TokenRights
    expires_at: datetime


class DueWork(StrEnum):
    """What may wait to be done in the background, for any tenant."""

    JOBS = "jobs"
    VECTORS = "vectors"
    LOST_TURNS = "lost_turns"
    ERASURES = "erasures"
    MOVES = "moves"
    RETIRED = "retired"
    OLD_ANSWERS = "old_answers"
    OLD_JOBS = "old_jobs"
    OLD_TURNS = "old_turns"


class Tally(StrEnum):
    """What is counted of all tenants together."""

    MEMORIES = "memories"
    JOBS = "jobs"
    WAITING = "waiting"
    TENANTS = "tenants"


class JobStatus(StrEnum):
    """Where a job stands: it waits for its next attempt, it succeeded, or it was given up."""

    WAITING = "waiting"
    DONE = "done"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Job:
    """Work that was promised durably. It acts as `principal`; a `waiting` one is due at `run_at`,
    and one that is over ended then.
    """

    id: str
    kind: str
    principal: Principal
    payload: Mapping[str, Any]
    run_at: datetime
    created_at: datetime
    updated_at: datetime
    key: str | None = None
    status: JobStatus = JobStatus.WAITING
    attempts: int = 0
    error: str | None = None
    result: Mapping[str, Any] | None = None

    @property
    def tenant(self) -> str:
        return self.principal.tenant

    @property
    def user(self) -> str | None:
        return self.principal.user

    @property
    def agent(self) -> str | None:
        return self.principal.agent

    @property
    def owner(self) -> Owner:
        return Owner(self.principal.user, self.principal.agent)


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """A remembered request: what was asked (as a hash) and what was answered (as JSON)."""

    principal: str
    route: str
    key: str
    user: str | None
    request_hash: str
    response: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RedactionNote:
    """That secrets were taken out of a memory when it was written: by which rules, and how many; never what they were.

    `seq` is the number of the event that tells it.
    """

    seq: int
    memory_id: str
    owner: Owner
    rules: Mapping[str, int]
    source: str
    actor: str | None
    at: datetime


class SpentDay(NamedTuple):
    """What the calls of language models on a day, which began then, took; `cost_usd` is that of all but `unpriced`."""

    day: datetime
    calls: int
    unpriced: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    seconds: float
    slowest: float
