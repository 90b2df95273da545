"""What a memory may hold. Each function returns the value or raises InvalidField naming the field and the rule."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from memorist.errors import InvalidField
from memorist.platform.values import Owner

E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")

MAX_CONTENT = 1_000_000
MAX_TOOL_OUTPUT = 20_000_000
MAX_DOCUMENT = 20_000_000
MAX_DOCUMENT_PAGE = 100
MAX_QUERY = 10_000
MAX_TOP_K = 20
MAX_BUDGET_TOKENS = 100_000
MAX_LINE = 500
MAX_NAME = 128
MAX_IDENTIFIER = 128
MAX_META_BYTES = 64_000
MAX_META_DEPTH = 32
MAX_PAYLOAD_BYTES = 6_000_000
MAX_BATCH = 1000
MAX_IDEMPOTENCY_KEY = 255
MAX_TTL = timedelta(days=36_500)

_SLUG = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)*")
_TENANT = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62})")
_IDENTIFIER = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,128}")
# NUL cannot be stored as text in PostgreSQL, and a lone surrogate is no Unicode text at all.
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LINE_BREAK = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def text(field: str, value: str, *, longest: int, empty: bool = False, one_line: bool = False) -> str:
    if not isinstance(value, str):
        raise InvalidField.of(field, "must be a text.")
    if not empty and not value.strip():
        raise InvalidField.of(field, "must not be empty.")
    if len(value) > longest:
        raise InvalidField.of(field, f"has {len(value)} characters; at most {longest} are taken.")
    if _UNSTORABLE.search(value):
        raise InvalidField.of(field, "holds a NUL or a lone surrogate, which is no text. Remove it.")
    if one_line and _LINE_BREAK.search(value):
        raise InvalidField.of(field, "must be a single line.")
    return value


def kind_of(field: str, value: T, wanted: type, said: str) -> T:
    """The value, where it is of that type; `said` is what the type is called."""
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is int):
        raise InvalidField.of(field, f"must be {said}.")
    return value


def each(field: str, given: Iterable[T]) -> Iterator[T]:
    """What is given one after the other."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidField.of(field, "must be a list.")
    return iter(given)


def slug(field: str, value: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_NAME or not _SLUG.fullmatch(value):
        raise InvalidField.of(
            field,
            f"must be a slug such as feedback_no_db_mocking: small letters and digits, "
            f"joined by _ or -, at most {MAX_NAME} characters.",
        )
    return value


def identifier(field: str, value: str) -> str:
    """The name of a user, agent, session or project."""
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        raise InvalidField.of(field, f"must be 1 to {MAX_IDENTIFIER} characters without spaces or control characters.")
    return value


def tenant_name(value: str) -> str:
    if not _TENANT.fullmatch(value):
        raise InvalidField(
            "A tenant's name has 1 to 63 small letters, digits, _ or -, and starts with a letter or digit.",
            field="tenant",
        )
    return value


def choice(field: str, value: str, choices: type[E]) -> E:
    """The member that the value names."""
    if isinstance(value, choices):
        return value
    try:
        return choices(value)
    except ValueError as error:
        raise InvalidField.of(field, f"must be one of {', '.join(choices)}.") from error


def integer(field: str, value: int) -> int:
    # What lies at the ends of 32 bits stands, in the order of a list, for what comes before and after everything.
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**31) < value < 2**31 - 1:
        raise InvalidField.of(field, "must be a whole number from -2147483647 to 2147483646.")
    return value


def fraction(field: str, value: float) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or not 0 <= value <= 1:
        raise InvalidField.of(field, "must be a number from 0 to 1.")
    return float(value)


def moment(field: str, value: datetime) -> datetime:
    """An aware time within what every store can hold."""
    if not isinstance(value, datetime):
        raise InvalidField.of(field, "must be a time.")
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidField.of(field, "must be a time from year 1 to 9999 in UTC.") from error


def ttl(value: timedelta) -> timedelta:
    """How long a memory lives: more than no time, and less than a lifetime of this program."""
    if not isinstance(value, timedelta) or not timedelta(0) < value <= MAX_TTL:
        raise InvalidField.of("ttl", f"must be more than 0 and at most {MAX_TTL.days} days.")
    return value


def meta(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """A JSON object of bounded size, returned as plain JSON values."""
    return json_object("meta", value, largest=MAX_META_BYTES, deepest=MAX_META_DEPTH)


def payload(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an event carries: it may quote a whole memory as it was before a change."""
    return json_object("payload", value, largest=MAX_PAYLOAD_BYTES, deepest=MAX_META_DEPTH + 2)


def json_object(field: str, value: Mapping[str, Any], *, largest: int, deepest: int) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidField.of(field, "must be an object.")
    try:
        encoded = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField.of(field, "must be plain JSON without NaN, infinity or cycles.") from error
    if len(encoded.encode("utf-8", "surrogatepass")) > largest:
        raise InvalidField.of(field, f"takes at most {largest} bytes.")
    for item, depth in _walk(value):
        if depth > deepest:
            raise InvalidField.of(field, f"is nested deeper than {deepest} levels.")
        if isinstance(item, str) and _UNSTORABLE.search(item):
            raise InvalidField.of(field, "holds a NUL or a lone surrogate, which is no text. Remove it.")
    decoded: Mapping[str, Any] = json.loads(encoded)
    return decoded


def project(value: str) -> str:
    """A project as it is looked for: a path with a slash at its end is the same without."""
    return value.rstrip("/") or value[:1]


def projects_around(value: str) -> tuple[str, ...]:
    """A project and, where it is a path, every folder above it."""
    name = project(value)
    above = [name[:at] or "/" for at, character in enumerate(name) if character == "/"] if name[:1] == "/" else []
    return tuple(dict.fromkeys([*above, name]))


def owner(value: Owner) -> Owner:
    kind_of("owner", value, Owner, "an Owner")
    for field, name in (("user", value.user), ("agent", value.agent)):
        if name is not None:
            identifier(field, name)
    return value


def idempotency_key(value: str) -> str:
    """As a header tells it, whichever door it comes through: without spaces around it."""
    key = text("Idempotency-Key", value, longest=MAX_IDEMPOTENCY_KEY, one_line=True).strip()
    if _CONTROL.search(key):
        raise InvalidField.of("Idempotency-Key", "must be without control characters.")
    return key


def event_number(value: int) -> int:
    """Which event of a turn was the last; 0 is before the first."""
    if kind_of("after", value, int, "the number of an event") < 0:
        raise InvalidField("The position must be the number of an event.", field="after")
    return value


def page_limit(value: int, *, largest: int = 100) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= largest:
        raise InvalidField.of("limit", f"must be a whole number from 1 to {largest}.")
    return value


def _walk(value: Any) -> Iterator[tuple[Any, int]]:
    """Every value and key inside, with its depth."""
    pending = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        yield item, depth
        if isinstance(item, Mapping):
            pending.extend((key, depth) for key in item)
            pending.extend((child, depth + 1) for child in item.values())
        elif isinstance(item, list | tuple):
            pending.extend((child, depth + 1) for child in item)
