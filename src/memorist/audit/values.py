"""Entries of the audit log, the head of its chain, and what a look at it found."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

NO_TENANT = ""
"""Whose log has what nobody could be named for: refusals of unknown keys, and what the operator does to all tenants."""


class NotedAct(NamedTuple):
    """What happened, before it has its place in the chain. Names and ids are salted hashes; there is no text in it.

    `user` and `agent` are whom the credential acted for or as, `ids` what the route was about, `times` how often it
    happened where entries that are the same were counted.
    """

    at: datetime
    kind: str
    door: str
    route: str
    outcome: str
    key_id: str = ""
    role: str = ""
    user: str = ""
    agent: str = ""
    on_behalf: bool = False
    ids: str = ""
    times: int = 1


class AuditEntry(NamedTuple):
    """One line of the log. `hash` covers the entry, its number and its tenant, and the hash of the entry before."""

    number: int
    act: NotedAct
    hash: str


class NotedDay(NamedTuple):
    """How many entries the log has of a day, which began then (UTC)."""

    day: datetime
    entries: int


@dataclass(frozen=True, slots=True)
class ChainHead:
    """Where a tenant's chain ends, and where it begins since older entries were removed.

    `anchor` is the hash of the last entry that was removed. `salt` is what names are hashed with.
    """

    number: int
    hash: str
    first: int
    anchor: str
    salt: str


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries are meant; '' is any. `user` and `about` are hashes."""

    kind: str = ""
    outcome: str = ""
    route: str = ""
    key_id: str = ""
    user: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """What a look at a tenant's chain found. `findings` is empty where it is whole.

    `entries` were looked at; `first` to `number` they are, and `hash` is that of the last. `waiting` are written and
    not in the chain yet.
    """

    entries: int
    first: int
    number: int
    hash: str
    waiting: int
    findings: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        return not self.findings
