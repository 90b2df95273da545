"""The line in the log for each request: which route it took, and never what stood in its address."""

import hashlib
import logging
import secrets
import time
from collections.abc import Mapping

from starlette.types import Scope

from memorist.secrets.logs import redacting_logger
from memorist.watching import Watched

_log = redacting_logger("memorist.http")

_SLOW_SECONDS = 1.0
_SALT = secrets.token_bytes(16)
"""Lost with the process: within one, lines about the same thing are known by their hash, and nobody turns it back."""
NO_ROUTE = "(no route)"
CLIENT_LEFT = 499


class RequestLog:
    """One request, from its start to the line about it, and to what is told of it to whoever watches."""

    __slots__ = ("_scope", "_started", "_streams_after")

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._started = time.perf_counter()
        self._streams_after: float | None = None

    def begins_to_stream(self) -> None:
        """From here on it lasts for as long as somebody listens."""
        self._streams_after = time.perf_counter() - self._started

    def write(self, request_id: str, status: int, watched: Watched) -> None:
        elapsed = time.perf_counter() - self._started
        # Whoever left before the answer has none.
        answered_in = elapsed if self._streams_after is None else self._streams_after
        watched.answered(route_of(self._scope)[0], self._scope["method"], status or CLIENT_LEFT, answered_in)
        level = self._level(status, elapsed)
        if _log.isEnabledFor(level):
            route, names = route_of(self._scope)
            fields = {
                "request_id": request_id,
                "method": self._scope["method"],
                "path": route,
                "status": status,
                "ms": round(elapsed * 1000, 2),
            }
            if names:
                fields["ids"] = {name: _hashed(value) for name, value in names.items()}
            _log.log(level, "request", extra={"fields": fields})

    def _level(self, status: int, elapsed: float) -> int:
        """Reads that went well are most of the traffic and the least of the news."""
        if status >= 500:
            return logging.ERROR
        quiet = self._scope["method"] in ("GET", "HEAD") and 200 <= status < 400 and elapsed < _SLOW_SECONDS
        return logging.DEBUG if quiet else logging.INFO


def route_of(scope: Scope) -> tuple[str, Mapping[str, str]]:
    """The template of the address, and what stood in its place: names of people, among others."""
    if "endpoint" not in scope:
        return NO_ROUTE, {}
    if "route" in scope:
        return scope["route"].path_format, scope["path_params"]
    # The framework notes its own routes only.
    routes, endpoint = scope["app"].routes, scope["endpoint"]
    template = next(route.path_format for route in routes if getattr(route, "endpoint", None) is endpoint)
    return template, scope["path_params"]


def _hashed(value: object) -> str:
    return hashlib.blake2s(str(value).encode("utf-8", "replace"), key=_SALT, digest_size=6).hexdigest()
