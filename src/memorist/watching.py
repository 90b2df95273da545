"""Who is told what is done, and how long it takes: nobody, unless somebody watches (`memorist.observing`).

Which trace a thread or task works for is known here too: log lines, and what other servers are asked, carry it on.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Facts = Mapping[str, str | int | float | bool | tuple[str, ...]]
"""What is told of a piece of work: numbers and names of our own. Never what somebody said, nor who."""


class Trace(NamedTuple):
    """Where in a trace something is done."""

    trace_id: int
    span_id: int
    is_sampled: bool

    def ids(self) -> dict[str, str]:
        """As log lines have them."""
        return {"trace_id": f"{self.trace_id:032x}", "span_id": f"{self.span_id:016x}"}

    def headers(self) -> dict[str, str]:
        """As W3C has them, for another server to go on with."""
        return {"traceparent": f"00-{self.trace_id:032x}-{self.span_id:016x}-{self.is_sampled:02x}"}


TRACE: ContextVar[Trace | None] = ContextVar("trace", default=None)
"""What this thread or task works for, where traces are made."""


def trace_ids() -> dict[str, str]:
    trace = TRACE.get()
    return {} if trace is None else trace.ids()


def trace_headers() -> dict[str, str]:
    trace = TRACE.get()
    return {} if trace is None else trace.headers()


def carried(work: Callable[P, T]) -> Callable[P, T]:
    """The same work for another thread, within the trace of this one."""
    trace = TRACE.get()
    if trace is None:
        return work

    def within(*args: P.args, **kwargs: P.kwargs) -> T:
        token = TRACE.set(trace)
        try:
            return work(*args, **kwargs)
        finally:
            TRACE.reset(token)

    return within


class Watched:
    """A piece of work, from its beginning to its end. This one is told to nobody."""

    __slots__ = ()

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None: ...

    def note(self, facts: Facts) -> None:
        """What turned out on the way."""

    def step_out(self) -> None:
        """Others go on in their own trace, until it is stepped in again: for what is done piece by piece."""

    def step_in(self) -> None: ...

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """How a request ended."""


_UNWATCHED = Watched()


class Watch:
    """Is told what is done. This one does not listen."""

    def timed(self, what: str, part: str = "", facts: Facts | None = None) -> Watched:  # noqa: ARG002
        """Around a piece of work; `what` and `part` are words of our own (`observing/families.py`)."""
        return _UNWATCHED

    def request(self, traceparent: str) -> Watched:  # noqa: ARG002
        """Around a request, which may say of which trace it is."""
        return _UNWATCHED

    def count(self, what: str, part: str = "", by: float = 1) -> None:
        """Something happened, so many times."""

    def spent(self, what: str, input_tokens: int, output_tokens: int, dollars: float | None) -> None:
        """What language models took; None is a price that is not known."""

    def model(self, part: str, model: T) -> T:  # noqa: ARG002
        """The same model, whose calls are told."""
        return model

    def exposition(self, gauges: Callable[[], Mapping[str, Mapping[str, float]]]) -> tuple[bytes, str] | None:  # noqa: ARG002
        """What was counted, with what these show now, and its media type; None where nothing is."""
        return None

    def share(self, folder: Path, number: int, gauges: Callable[[], Mapping[str, Mapping[str, float]]]) -> None:
        """Count together with the other processes of this server, which meet in the folder; `gauges`: what this one
        alone shows."""

    def close(self) -> None:
        """Send what was not sent yet."""
