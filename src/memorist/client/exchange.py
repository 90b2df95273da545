"""One call from its request to its answer, without I/O: what to send, when to try again, and what an error means.

`exchange` is a generator: it asks for a request to be sent or for time to pass, and is told what came of it. A client
only does what it is asked, so that the one that blocks and the one that is awaited behave the same.
"""

import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from itertools import count
from typing import Any, TypeVar
from uuid import uuid4

import httpx2

from memorist import errors
from memorist.errors import MemoristError, ServerUnavailable, all_errors
from memorist.platform import validation
from memorist.times import SystemClock
from memorist.verbs.kinds import Call

T = TypeVar("T")

Outcome = httpx2.Response | httpx2.TransportError

_TRY_AGAIN = {429, 502, 503, 504}
# Waiting does not help there.
_LASTING = {errors.LlmNotConfigured.code, errors.BudgetSpent.code}
# The request never left: whatever it is, sending it once more is the first time.
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_BY_CODE = {kind.code: kind for kind in all_errors()}
# For answers that are not Memorist's own, as those of a proxy.
_BY_STATUS: dict[int, type[MemoristError]] = {
    HTTPStatus.BAD_REQUEST: errors.Invalid,
    HTTPStatus.UNAUTHORIZED: errors.Unauthenticated,
    HTTPStatus.FORBIDDEN: errors.Forbidden,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: errors.PayloadTooLarge,
}


@dataclass(frozen=True, slots=True)
class Send:
    """A request to be sent."""

    method: str
    path: str
    query: Mapping[str, Any]
    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Wait:
    """Time to let pass before the next try."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a call is tried again and how long is waited in between: a random part of a span that doubles, or as
    long as the server asks for. One that asks for more than `longest` seconds is not waited for.
    """

    most: int = 3
    first: float = 0.5
    longest: float = 30.0
    random: Callable[[float, float], float] = random.uniform

    def pause(self, attempt: int, outcome: Outcome | None = None) -> float | None:
        """Seconds until the next try after the given one, counted from 0; None where there is to be none."""
        if attempt >= self.most:
            return None
        asked = _retry_after(outcome)
        if asked is None:
            return self.random(0.0, min(self.longest, self.first * 2**attempt))
        return None if asked > self.longest else asked + self.random(0.0, self.first)


def exchange(call: Call[T], retries: Retries) -> Generator[Send | Wait, Outcome | None, T]:
    """The steps of a call and of those that follow it; returns the last answer.

    Raises the error that the server names, or ServerUnavailable.
    """
    while True:
        answer, following = yield from _exchange_one(call, retries)
        if following is None:
            return answer
        call = following


def _exchange_one(call: Call[T], retries: Retries) -> Generator[Send | Wait, Outcome | None, tuple[T, Call[T] | None]]:
    """The answer, and the call that follows it."""
    request = _request(call)
    for attempt in count():
        outcome = yield request
        assert outcome is not None
        if isinstance(outcome, httpx2.Response) and outcome.is_success:
            return _decoded(call, outcome)
        pause = retries.pause(attempt, outcome) if _may_repeat(call, outcome) else None
        if pause is None:
            raise error_of(outcome)
        yield Wait(pause)
    raise AssertionError("unreachable")


def is_passing(response: httpx2.Response) -> bool:
    """Whether the same request may be answered otherwise in a moment."""
    return response.status_code in _TRY_AGAIN and _problem(response).get("code") not in _LASTING


def error_of(outcome: Outcome) -> MemoristError:
    """What an answer that is no success, or none at all, means in the one tree of errors."""
    if not isinstance(outcome, httpx2.Response):
        # One of the protocol quotes what was not sent, and that may be a secret.
        quotes = isinstance(outcome, httpx2.LocalProtocolError)
        reason = (("" if quotes else str(outcome)) or type(outcome).__name__).rstrip(".")
        return ServerUnavailable(
            f"The server at {_asked(outcome)} did not answer: {reason}. Check the address, and that it runs."
        )
    problem = _problem(outcome)
    kind = _BY_CODE.get(str(problem.get("code")))
    if kind is None:
        kind = _BY_STATUS.get(outcome.status_code, ServerUnavailable)
        return kind(f"{outcome.url} answered {outcome.status_code}, and not as Memorist does.")
    message = str(problem.get("detail") or kind().message)
    if outcome.status_code >= 500 and "request_id" in problem:
        message = f"{message} [{problem['request_id']}]"
    return kind(message, field=problem.get("field"))


def _asked(failed: httpx2.TransportError) -> str:
    """The address of the server, without what of it may be secret."""
    try:
        url = failed.request.url
    except RuntimeError:  # It failed before there was a request.
        return "that address"
    return f"{url.scheme}://{url.netloc.decode('ascii').rpartition('@')[2]}"


def _request(call: Call[Any]) -> Send:
    headers = dict(call.headers)
    if call.writes:
        key = call.idempotency_key
        headers["Idempotency-Key"] = str(uuid4()) if key is None else validation.idempotency_key(key)
    query = {name: value for name, value in call.query.items() if value is not None}
    return Send(call.method, call.path, query, call.body, headers)


def _may_repeat(call: Call[Any], outcome: Outcome) -> bool:
    if isinstance(outcome, _NEVER_SENT):
        return True
    if not (call.reads or call.writes):
        return False
    if not isinstance(outcome, httpx2.Response):
        # What cannot be sent cannot be sent later.
        return not isinstance(outcome, httpx2.LocalProtocolError)
    # The first try is still being worked on, and its answer will come under the same key.
    return is_passing(outcome) or _problem(outcome).get("code") == errors.IdempotencyInFlight.code


def _decoded(call: Call[T], response: httpx2.Response) -> tuple[T, Call[T] | None]:
    try:
        record = None if response.status_code == 204 else response.json()
        return call.decode(record), call.more(record)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ServerUnavailable(f"{response.url} answered something that Memorist does not.") from error


def _problem(response: httpx2.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _retry_after(outcome: Outcome | None) -> float | None:
    """Seconds that the server asks to wait: as a number, or as a date."""
    header = outcome.headers.get("retry-after") if isinstance(outcome, httpx2.Response) else None
    if header is None:
        return None
    try:
        if header.strip().isdigit():
            return float(header)
        return max(0.0, (parsedate_to_datetime(header) - SystemClock().now()).total_seconds())
    except (TypeError, ValueError):
        return None
