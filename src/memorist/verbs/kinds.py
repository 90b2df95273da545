"""What a description of a verb is made of."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from urllib.parse import quote

from memorist.codec import from_record
from memorist.errors import InvalidField
from memorist.ids import parse_id
from memorist.platform.values import Principal

if TYPE_CHECKING:
    from memorist.core import Core

T = TypeVar("T")


class Acting(Protocol):
    """Who does something in this process, and with what."""

    @property
    def core(self) -> "Core": ...

    @property
    def who(self) -> Callable[[], Principal]: ...

    @property
    def principal(self) -> Principal: ...

    def writing(self) -> Principal:
        """The principal, whose tenant is made before its first write."""
        ...


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call of the server: what is sent, and how the JSON of the answer is read.

    `writes` is sent with an idempotency key, one's own or a new one; without `reads` or `writes` it is a write that the
    server knows no key for, and is not sent a second time once it may have arrived. `more` says which call follows an
    answer (its JSON), until there is none: what the last one is read as counts.
    """

    method: str
    path: str
    decode: Callable[[Any], T]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    reads: bool = False
    writes: bool = False
    idempotency_key: str | None = None
    more: "Callable[[Any], Call[T] | None]" = lambda _: None


@dataclass(frozen=True, slots=True)
class Verb(Generic[T]):
    """Something to do: in this process, or on a server."""

    here: Callable[[Acting], T]
    there: Callable[[], Call[T]]


@dataclass(frozen=True, slots=True)
class Events(Generic[T]):
    """Server-sent events of an address, after one of them. `decode` returns None for those that say nothing.

    With `wait` the server is asked to end it when nothing came for so many seconds. It is over with an event that is
    named in `ends`, or when a server that knows no such event says that nothing came for so long. With a `body` it is
    asked for by POST until `begins` comes, which names where to go on.
    """

    path: str
    decode: Callable[[Any], T | None]
    after: str | None = None
    wait: float | None = None
    ends: Collection[str] = ()
    body: Mapping[str, Any] | None = None
    begins: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text that is too long to be held at once."""

    path: str
    query: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream(Generic[T]):
    """Values as they come. `at_once`: how many are fetched together where each has to be waited for."""

    here: Callable[[Acting], Iterator[T]]
    there: "Callable[[], Events[T] | Lines]"
    at_once: int = 1


def told(kind: type[T]) -> Callable[[Any], T]:
    """Read an answer that is a value of that type."""
    return lambda record: from_record(kind, record)


def told_as(name: str, kind: type[T]) -> Callable[[Any], T]:
    """Read the answer's field of that name."""
    return lambda record: from_record(kind, record[name])


def reading(path: str, kind: type[T], /, **query: Any) -> Call[T]:
    """A call that only reads, by GET."""
    return Call("GET", path, told(kind), query, reads=True)


def part(text: str) -> str:
    """A part of a path. Names are their owner's words, and may hold what a path uses itself. Raises InvalidField."""
    if text in (".", ".."):
        return text.replace(".", "%2E")  # As they are they would be taken for steps of the path.
    try:
        return quote(text, safe="")
    except (UnicodeEncodeError, TypeError) as error:
        raise InvalidField("What is sent must be text in Unicode, without a lone surrogate.") from error


def id_part(prefix: str, text: str) -> str:
    """An id in any form as a part of a path, where another word may name something else. Raises InvalidId."""
    return part(parse_id(prefix, text))


def without_none(**given: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}
