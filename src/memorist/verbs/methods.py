"""How a described verb becomes a method: of those that answer at once, and of those that are awaited."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from memorist.verbs.kinds import Stream, Verb

P = ParamSpec("P")
T = TypeVar("T")


class Blocking(ABC):
    """Carries verbs out, and returns their answers."""

    @abstractmethod
    def _do(self, verb: Verb[T]) -> T: ...

    @abstractmethod
    def _stream(self, stream: Stream[T]) -> Iterator[T]: ...


class Awaited(ABC):
    """Carries verbs out, and is awaited."""

    @abstractmethod
    async def _do(self, verb: Verb[T]) -> T: ...

    @abstractmethod
    def _stream(self, stream: Stream[T]) -> AsyncIterator[T]: ...


class Doing(Generic[P, T]):
    """A verb among the methods of a class."""

    def __init__(self, describe: Callable[P, Verb[T]]) -> None:
        self._describe = describe
        self._made: dict[bool, Any] = {}

    @overload
    def __get__(self, who: Blocking, owner: type | None = None) -> Callable[P, T]: ...

    @overload
    def __get__(self, who: Awaited, owner: type | None = None) -> Callable[P, Awaitable[T]]: ...

    @overload
    def __get__(self, who: None, owner: type) -> Callable[..., Any]: ...

    def __get__(self, who: Blocking | Awaited | None, owner: type | None = None) -> Any:
        is_awaited = issubclass(owner or type(who), Awaited)
        if is_awaited not in self._made:
            self._made[is_awaited] = self._awaited() if is_awaited else self._blocking()
        method = self._made[is_awaited]
        return method if who is None else method.__get__(who)

    def _blocking(self) -> Any:
        @wraps(self._describe)
        def method(who: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return who._do(self._describe(*args, **kwargs))

        return _shown(method, self._describe)

    def _awaited(self) -> Any:
        @wraps(self._describe)
        async def method(who: Awaited, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return await who._do(self._describe(*args, **kwargs))

        return _shown(method, self._describe)


class Streaming(Generic[P, T]):
    """A verb whose answer comes piece by piece, likewise."""

    def __init__(self, describe: Callable[P, Stream[T]]) -> None:
        self._describe = describe

    @overload
    def __get__(self, who: Blocking, owner: type | None = None) -> Callable[P, Iterator[T]]: ...

    @overload
    def __get__(self, who: Awaited, owner: type | None = None) -> Callable[P, AsyncIterator[T]]: ...

    @overload
    def __get__(self, who: None, owner: type) -> Callable[..., Any]: ...

    def __get__(self, who: Blocking | Awaited | None, owner: type | None = None) -> Any:
        @wraps(self._describe)
        def method(who: Blocking | Awaited, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return who._stream(self._describe(*args, **kwargs))

        shown = _shown(method, self._describe, AsyncIterator if issubclass(owner or type(who), Awaited) else Iterator)
        return shown if who is None else cast(Any, shown).__get__(who)


def _shown(method: T, describe: Callable[..., Any], answers: Any = None) -> T:
    """Show the verb's own arguments and answer in the signature, and not that it is described."""
    described = signature(describe)
    answer = described.return_annotation.__args__[0]
    shown = answer if answers is None else answers[answer]
    # Where a method is bound, what is shown of it lacks the first.
    me = Parameter("self", Parameter.POSITIONAL_ONLY)
    cast(Any, method).__signature__ = described.replace(
        parameters=[me, *described.parameters.values()],
        return_annotation=None if shown is type(None) else shown,
    )
    return method
