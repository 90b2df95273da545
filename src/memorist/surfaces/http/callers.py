"""Who is calling: the key in the Authorization header, and for whom it acts."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from fastapi import Request
from starlette.types import Scope

from memorist.core import Core
from memorist.errors import InvalidField, Unauthenticated
from memorist.platform import access, validation
from memorist.platform.values import Principal

T = TypeVar("T")

_ACTING_HEADERS = {b"x-memorist-user": "user", b"x-memorist-agent": "agent", b"x-memorist-session": "session"}


def core_of(request: Request) -> Core:
    core: Core = request.app.state.core
    return core


async def promptly(request: Request, call: Callable[[], T]) -> T:
    """Run a read by key: at once where the store never makes it wait, on a thread where it might."""
    if core_of(request).store.instant_reads:
        return call()
    return await asyncio.to_thread(call)


def caller(request: Request, *, source: str) -> Principal:
    """The principal of a request. Raises Unauthenticated, Forbidden or InvalidField."""
    secret = None
    acting_for: dict[str, str] = {}
    # One pass over the raw headers: each lookup by name would be another.
    for name, value in request.scope["headers"]:
        if name == b"authorization":
            secret = _bearer(value)
        elif name in _ACTING_HEADERS:
            acting_for[_ACTING_HEADERS[name]] = _identifier(name.decode(), value)
    principal = core_of(request).identity.authenticate(secret, source=source)
    return access.acting(principal, **acting_for) if acting_for else principal


def is_known(core: Core, scope: Scope) -> bool:
    """Whether a request has a valid key. Raises StoreError."""
    secrets = [_bearer(value) for name, value in scope["headers"] if name == b"authorization"]
    try:
        core.identity.authenticate(secrets[-1] if secrets else None, source="uploads")
    except Unauthenticated:
        return False
    return True


def _bearer(value: bytes) -> str | None:
    scheme, _, secret = value.decode("latin-1").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def _identifier(header: str, value: bytes) -> str:
    try:
        return validation.identifier(header, value.decode("utf-8"))
    except UnicodeDecodeError:
        raise InvalidField(f"The header {header} must be UTF-8.", field=header) from None
