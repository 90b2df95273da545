"""The verbs in this process: over an open core, for one principal."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from memorist.platform import acts
from memorist.platform.values import Principal
from memorist.verbs.blocking import Verbs
from memorist.verbs.kinds import Acting, Stream, Verb

if TYPE_CHECKING:
    from memorist.core import Core

T = TypeVar("T")


class Handle(Verbs):
    """What one principal can do. Every call goes through the same policy layer as the server's."""

    def __init__(
        self, core: "Core", who: Callable[[], Principal], new_tenant: Callable[[str], None] = lambda _: None
    ) -> None:
        """`new_tenant` is told the name of a tenant that the first write made."""
        self._acting = _Acting(core, who, new_tenant)

    @property
    def principal(self) -> Principal:
        """Whom this handle acts as. Raises Unauthenticated once its API key is revoked."""
        return self._acting.principal

    def _do(self, verb: Verb[T]) -> T:
        with self._acting.act(verb.here):
            return verb.here(self._acting)

    def _stream(self, stream: Stream[T]) -> Iterator[T]:
        with self._acting.act(stream.here):
            return stream.here(self._acting)


class _Acting(Acting):
    """A principal in this process. Reading makes nothing, not even its tenant."""

    def __init__(self, core: "Core", who: Callable[[], Principal], new_tenant: Callable[[str], None]) -> None:
        self._core = core
        self._who = who
        self._new_tenant = new_tenant
        self._tenant_exists = False

    @property
    def core(self) -> "Core":
        return self._core

    @property
    def who(self) -> Callable[[], Principal]:
        return lambda: acts.by(self._who())

    @property
    def principal(self) -> Principal:
        return acts.by(self._who())

    def act(self, work: Callable[..., object]) -> AbstractContextManager[object]:
        """One call of a verb, named after the function that describes it; inside of a command, the command's."""
        if acts.ACT.get() is not None:
            return nullcontext()
        return self._core.audit.acting("library", _named(work.__qualname__))

    def writing(self) -> Principal:
        principal = self.principal
        if not self._tenant_exists:
            _, is_new = self._core.identity.create_tenant(principal.tenant)
            self._tenant_exists = True
            if is_new:
                self._new_tenant(principal.tenant)
        return principal


@cache
def _named(qualified: str) -> str:
    """The verb that a function inside of its description belongs to."""
    return qualified.removeprefix("AsyncHandle.").partition(".")[0]
