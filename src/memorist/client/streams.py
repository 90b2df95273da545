"""Following server-sent events over broken connections, without I/O."""

import json
import time
from collections.abc import Callable, Collection
from typing import Any
from uuid import uuid4

import httpx2

from memorist.client.exchange import Outcome, Retries, error_of, is_passing
from memorist.verbs.kinds import Events

_DEFAULT_SECONDS = 2.0
# The server says something at least every 15 seconds.
_SILENCE_SECONDS = 60.0
# So much later than it should end by itself, a stream is ended here.
_SLACK_SECONDS = 1.0


class Following:
    """Where a stream stands: the last id, how long the server wants to be left alone, and how often it failed.

    With `wait` the server is asked to end it when it told nothing for so many seconds, whichever connections they fell
    on. It is over with an event that is named in `ends`, or with a word that the server is there after that time: one
    of an earlier version does not end it itself.
    """

    def __init__(
        self,
        retries: Retries,
        path: str,
        *,
        after: str | None = None,
        ends: Collection[str] = (),
        wait: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._retries = retries
        self._path = path
        self._last_id = after
        self._ends = ends
        self._wait = wait
        self._clock = clock
        self._said_at: float | None = None
        self._seconds = _DEFAULT_SECONDS
        self._failures = 0
        self._heard = False
        self.is_over = False

    @property
    def request(self) -> dict[str, Any]:
        """What to ask for next, to go on after the last event."""
        self._heard = False
        headers = {} if self._last_id is None else {"Last-Event-ID": self._last_id}
        params = None if self._wait is None else {"wait": max(0.0, self._wait - self._quiet_for())}
        return {"url": self._path, "params": params, "headers": headers, "timeout": _SILENCE_SECONDS}

    def hear(self, event: httpx2.ServerSentEvent) -> bool:
        """Note what an event says about the stream. True where it says something to the reader too."""
        self._failures = 0
        self._heard = True
        if event.id:
            self._last_id = event.id
        if event.retry is not None:
            self._seconds = event.retry / 1000
        # The time begins when the server answers: one that is away for a while is then asked for all of it.
        if event.data or self._said_at is None:
            self._said_at = self._clock()
        # A stream begins with how to come back, and with what is waiting: it is quiet only after that.
        is_idle = not event.data and event.retry is None
        self.is_over = event.event in self._ends or (is_idle and self._is_quiet())
        return bool(event.data)

    def pause(self, outcome: Outcome | None) -> float:
        """Seconds until the next try; None is a stream that came to its end. Raises what cannot be tried again."""
        is_refused = isinstance(outcome, httpx2.Response) and not is_passing(outcome)
        if outcome is not None and (is_refused or isinstance(outcome, httpx2.LocalProtocolError)):
            raise error_of(outcome)
        if outcome is None:
            # One that has an end, and nothing more to tell, was over before. Others end when a server stops.
            self.is_over = bool(self._ends) and not self._heard
            return self._retries.random(self._seconds / 2, self._seconds)
        pause = self._retries.pause(self._failures, outcome)
        if pause is None:
            raise error_of(outcome)
        self._failures += 1
        return pause

    def _is_quiet(self) -> bool:
        return self._wait is not None and self._quiet_for() >= self._wait + _SLACK_SECONDS

    def _quiet_for(self) -> float:
        return 0.0 if self._said_at is None else self._clock() - self._said_at


def following(retries: Retries, asked: Events[Any]) -> Following:
    """Where a stream of events stands that is yet to be asked for."""
    if asked.body is not None:
        return FollowingTurn(retries, asked)
    return Following(retries, asked.path, after=asked.after, ends=asked.ends, wait=asked.wait)


class FollowingTurn(Following):
    """A turn that is yet to be taken: asked for under one key until it has an id, and then followed by that."""

    def __init__(self, retries: Retries, asked: Events[Any]) -> None:
        super().__init__(retries, asked.path, ends=asked.ends)
        self._body = asked.body
        self._key = str(uuid4())
        self._begins = asked.begins
        self._has_id = False

    @property
    def request(self) -> dict[str, Any]:
        asked = super().request
        if not self._has_id:
            asked |= {"method": "POST", "json": self._body}
            asked["headers"] = {"Idempotency-Key": self._key}
        return asked

    def hear(self, event: httpx2.ServerSentEvent) -> bool:
        if event.event == self._begins:
            self._path += f"/{json.loads(event.data)['turn_id']}/events"
            self._has_id = True
        return super().hear(event)


class LineSplitter:
    """Lines of a text that comes in pieces. Only a line feed ends one: JSON may hold other breaks of a line."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[str]:
        """The lines that the piece completes."""
        *complete, self._rest = (self._rest + piece).split(b"\n")
        return [line.decode() for line in complete]
