"""Receipts, the ledger and what names what, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from memorist.platform.erased_names import subject_of
from memorist.platform.values import OwnerFilter

EVERYTHING = OwnerFilter(any_user=True, any_agent=True)


class ErasureKind(StrEnum):
    """What an erasure was asked for: some memories, a user, a tenant, to begin anew, or the end of their retention."""

    MEMORIES = "memories"
    USER = "user"
    TENANT = "tenant"
    RESET = "reset"
    RETENTION = "retention"


# These take nothing along that is not theirs: a conversation may age away, what was learned from it is meant to stay.
DETACHING = (ErasureKind.RETENTION, ErasureKind.RESET)
_OF_OTHERS = "samples_shared"


class ErasureStatus(StrEnum):
    """Where an erasure stands: asked for later, removing rows, rewriting files, or done and verified."""

    DUE = "due"
    RUNNING = "running"
    SCRUBBING = "scrubbing"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Verification:
    """What was looked for after an erasure, and what of it was found. `samples` are pieces of the erased texts.

    `rows` counts by table what still named an erased memory or user; `ids_in_files` and `samples_in_files` are None
    where the database's files cannot be read. What a living row holds as well is no trace, and is counted nowhere.
    """

    ok: bool
    checked_at: datetime
    ids: int = 0
    rows: Mapping[str, int] = field(default_factory=dict)
    ids_in_files: int | None = None
    samples: int = 0
    samples_in_files: int | None = None
    name_in_files: int | None = None

    @classmethod
    def known(cls, stored: Mapping[str, Any], checked_at: datetime) -> "Verification":
        """Of what was stored. Earlier versions counted what others hold, too, which is told to nobody."""
        return cls(
            **{**{name: value for name, value in stored.items() if name != _OF_OTHERS}, "checked_at": checked_at}
        )


@dataclass(frozen=True, slots=True)
class Receipt:
    """The proof of an erasure. It holds no personal text: `subject` is the salted hash of whose data it was.

    `counts` says how many rows went from each table; `remains` what may still hold copies that are out of reach.
    `request` is what was asked, for as long as the erasure runs, and None afterwards.
    """

    id: str
    tenant: str
    kind: ErasureKind
    status: ErasureStatus
    asked_by: Mapping[str, Any]
    salt: str
    started_at: datetime
    due_at: datetime
    subject: str = ""
    request: Mapping[str, Any] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    verification: Verification | None = None
    remains: tuple[str, ...] = ()
    finished_at: datetime | None = None

    @property
    def memories(self) -> int:
        """How many memories went."""
        return self.counts.get("memories", 0)

    def is_about(self, user: str | None) -> bool:
        """Whether it was that user's data; with None, nobody's in particular."""
        return self.subject == ("" if user is None else subject_of(self.salt, user))


class Naming(NamedTuple):
    """What a memory says about others, as the database has it: `meta` is JSON."""

    id: str
    kind: str
    governed_by: str
    source_ref: str | None
    superseded_by: str | None
    meta: str | None


@dataclass(frozen=True, slots=True)
class Erased:
    """One line of the ledger: a memory by its id in hexadecimal digits, a document or a user by a salted hash."""

    kind: str
    id: str
    salt: str
    receipt_id: str
    erased_at: datetime
