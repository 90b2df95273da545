"""Who is calling: the key in the Authorization header, and for whom it acts."""

import asyncio
from collections.abc import Callable
from hashlib import blake2b
from typing import TypeVar

from fastapi import Request
from starlette.types import Scope

from memorist.core import Core
from memorist.errors import Forbidden, InvalidField
from memorist.platform import access, acts, validation
from memorist.platform.values import Principal

T = TypeVar("T")

KNOWN = "known"
"""Where the boundary leaves the holder of the valid key of a request, in the state of its scope, and the dashboard who
is signed in."""
SHARE = "share"
"""Where it leaves what the request takes of the server."""
FOR_ANYBODY = "for_anybody"
"""Likewise, whether what is counted is shown to anybody who reaches the port."""
_ACTING_HEADERS = {b"x-memorist-user": "user", b"x-memorist-agent": "agent", b"x-memorist-session": "session"}


def affinity(tenant: str, user: bytes) -> bytes:
    """Whose memories a request is about, for proxies: the same in every process and release, and names nobody."""
    return blake2b(tenant.encode() + b"\0" + user, digest_size=8).hexdigest().encode()


def shared_with(holder: Principal, user: bytes) -> str | None:
    """Whose share of the server a request takes: that of the user it names where its key may act for that one, and
    otherwise its own, for whoever it is refused to."""
    try:
        return access.acting(holder, user=user.decode("utf-8", "replace")).user if user else holder.user
    except Forbidden:
        return holder.user


def core_of(request: Request) -> Core:
    core: Core = request.app.state.core
    return core


async def promptly(request: Request, call: Callable[[], T]) -> T:
    """Run a read by key: at once where the store never makes it wait, on a thread where it might."""
    if core_of(request).store.instant_reads:
        return call()
    return await asyncio.to_thread(call)


def caller(request: Request, *, source: str) -> Principal:
    """The principal of a request, whose key the boundary has checked. Raises Forbidden or InvalidField."""
    holder: Principal = request.scope["state"][KNOWN]
    # Written out, because `replace` takes twice as long and every request comes through here.
    own = Principal(
        holder.tenant, holder.role, holder.user, holder.agent, holder.session, holder.key_id, source,
        holder.agent_vouched, holder.on_behalf, holder.agent_bound,
    )  # fmt: skip
    return _acting(own, request.scope)


def caller_now(request: Request, *, source: str) -> Principal:
    """The same, asked of the store anew: for what outlives the moment. Raises Unauthenticated, too."""
    secrets = [bearer(value) for name, value in request.scope["headers"] if name == b"authorization"]
    principal = core_of(request).identity.authenticate(secrets[-1] if secrets else None, source=source)
    return _acting(principal, request.scope)


def _acting(principal: Principal, scope: Scope) -> Principal:
    acting_for: dict[str, str] = {}
    # One pass over the raw headers: each lookup by name would be another.
    for name, value in scope["headers"]:
        if name in _ACTING_HEADERS:
            acting_for[_ACTING_HEADERS[name]] = _identifier(name.decode(), value)
    return acts.by(access.acting(principal, **acting_for) if acting_for else principal)


def bearer(value: bytes) -> str | None:
    """The secret in an Authorization header."""
    scheme, _, secret = value.decode("latin-1").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def _identifier(header: str, value: bytes) -> str:
    try:
        return validation.identifier(header, value.decode("utf-8"))
    except UnicodeDecodeError:
        raise InvalidField(f"The header {header} must be UTF-8.", field=header) from None
