"""The act at hand: who does what, through which door. One is under way for each request, command, call and job.

It stands beside the thread or task, so that whatever works for it can say what it knows; `memorist.audit` notes it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum

from memorist.errors import Forbidden, MemoristError, TooManyRequests, Unauthenticated
from memorist.platform.values import Principal

OK = "ok"
_DENIALS = (Unauthenticated, Forbidden, TooManyRequests)

Where = tuple[str, Mapping[str, str]]
"""A route, in words of our own, and what stood in the places that it leaves open."""


class ActKind(StrEnum):
    READ = "read"
    WRITE = "write"
    DENIED = "denied"
    FAILED = "failed"
    KEYS = "keys"
    """Keys, tokens and tenants were made or ended."""
    POLICY = "policy"
    SIGN_IN = "sign_in"
    TRIMMED = "trimmed"
    """Entries of the audit log whose time was over were removed."""
    LOST = "lost"
    """Reads came faster than they could be noted."""


class CurrentAct:
    __slots__ = ("door", "is_finished", "is_noted", "kind", "outcome", "principal", "where")

    def __init__(self, door: str, where: Callable[[], Where], principal: Principal | None = None) -> None:
        self.door = door
        self.where = where
        self.principal = principal
        self.kind = ActKind.READ
        self.outcome = OK
        self.is_noted = False
        """Whether what it wrote is noted, in the transaction that wrote it."""
        self.is_finished = False

    def fail(self, error: BaseException) -> None:
        self.kind = ActKind.DENIED if isinstance(error, _DENIALS) else ActKind.FAILED
        self.outcome = error.code if isinstance(error, MemoristError) else MemoristError.code


ACT: ContextVar[CurrentAct | None] = ContextVar("act", default=None)


def mark(kind: ActKind) -> None:
    """Say, before it is written, what kind of a change the act at hand is."""
    act = ACT.get()
    if act is not None and not act.is_noted:
        act.kind = kind


def by(principal: Principal) -> Principal:
    """Say who does it, which is known only after a while; returns the same."""
    act = ACT.get()
    if act is not None:
        act.principal = principal
    return principal


def failed(error: BaseException) -> None:
    """Say how it ended, where the error goes no further."""
    act = ACT.get()
    if act is not None:
        act.fail(error)


@contextmanager
def working(principal: Principal, what: str) -> Iterator[None]:
    """Work in the background, for somebody; what a request waits for is the request's own."""
    with _set(ACT.get() or CurrentAct("background", lambda: (what, {}), principal)):
        yield


@contextmanager
def aside() -> Iterator[None]:
    """What is written here follows from other things, or counts them: it is nobody's act."""
    with _set(None):
        yield


@contextmanager
def _set(act: CurrentAct | None) -> Iterator[None]:
    token = ACT.set(act)
    try:
        yield
    finally:
        ACT.reset(token)
