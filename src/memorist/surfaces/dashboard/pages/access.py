"""Access: the tenant's keys, who is signed in, and whose memories there are. For admins."""

from datetime import datetime
from typing import Any

from starlette.responses import Response

from memorist.errors import InvalidField
from memorist.platform import access
from memorist.platform.values import ApiKey, Owner, Role
from memorist.surfaces.dashboard.pages.home import up_to
from memorist.surfaces.dashboard.refusals import in_words
from memorist.surfaces.dashboard.routing import SIGN_IN, Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.wording import say, to_say
from memorist.times import from_iso

pages = Pages()

_ADDRESS = f"{HOME}/access"
_KEYS = 100
_ROLES = (
    (Role.USER, to_say("One user’s memories, and what the tenant shares. For a person, or for one agent of theirs.")),
    (Role.SERVICE, to_say("Any user’s memories, named with each request. For a program that serves many people.")),
    (Role.READER, to_say("Reads, and never writes.")),
    (Role.ADMIN, to_say("Everything, keys and policies too.")),
)
_EMPTY = {"role": Role.USER, "user": "", "agent": "", "label": "", "expires": ""}


@pages.get("/access")
def show(visit: Visit) -> Response:
    return _page(visit)


@pages.post("/access/keys")
def create(visit: Visit) -> Response:
    """A new key. It is in this answer and nowhere else."""
    given = {name: visit.text(name) for name in _EMPTY}
    try:
        role = Role(given["role"])
    except ValueError:
        raise InvalidField(say("Choose what the key may do."), field="role") from None
    names = {name: given[name] or None for name in ("user", "agent", "label")}
    try:
        key, secret = visit.core.identity.create_key(visit.principal, role, **names, expires_at=_day(given["expires"]))
    except InvalidField as error:
        status = visit.site.status_of(error)
        return _keys(visit, status=status, given=given | {"role": role}, invalid=in_words(error), field=error.field)
    return _keys(visit, made=key, secret=secret)


@pages.post("/access/keys/{id}/revoke")
def revoke(visit: Visit) -> Response:
    """End a key. The one that the visitor came with is ended only where that was said twice."""
    key_id = visit.path("id")
    is_own = key_id == visit.session.key.id
    if is_own and visit.text("own") != "yes":
        raise InvalidField(
            say("You are signed in with this key. Say that you want to be signed out, too."), field="own"
        )
    visit.core.identity.revoke_key(visit.principal, key_id)
    if is_own:
        return visit.redirect(SIGN_IN)
    return visit.redirect(_ADDRESS, toast=Toast(say("That key is revoked. It works nowhere any more.")))


def _keys(visit: Visit, *, status: int = 200, **context: Any) -> Response:
    """The part of the page that has the keys where htmx asked for it, or all of it. Never kept by a browser."""
    if visit.is_partial:
        # htmx swaps what answers 200 only.
        response = visit.part("parts/access_keys.html", **_key_context(visit, **context))
    else:
        response = _page(visit, status=status, **context)
    response.headers["Cache-Control"] = "no-store"
    return response


def _page(visit: Visit, *, status: int = 200, **context: Any) -> Response:
    access.require(visit.principal, access.Action.ADMINISTER)
    after = Owner(visit.query.get("user") or None, visit.query.get("agent") or None)
    owners = visit.core.overview.owners(visit.principal, after)
    return visit.page(
        "access.html",
        status=status,
        section="access",
        owners=owners,
        is_first=after == Owner(),
        **_key_context(visit, **context),
    )


def _key_context(visit: Visit, **context: Any) -> dict[str, Any]:
    keys = sorted(visit.core.identity.list_keys(visit.principal), key=lambda key: key.created_at, reverse=True)
    now = visit.core.clock.now()
    valid = [key for key in keys if key.is_valid(now)]
    ended = sorted((key for key in keys if not key.is_valid(now)), key=_ended_at, reverse=True)
    start = visit.number("from", 0, least=0, most=10**9) if not visit.form else 0
    return {
        "keys": valid[start : start + _KEYS],
        "start": start,
        "valid": len(valid),
        "next_start": start + _KEYS if start + _KEYS < len(valid) else None,
        "ended": ended[:_KEYS],
        "ended_count": len(ended),
        "sessions": visit.core.overview.sessions(visit.principal),
        "roles": _ROLES,
        "up_to": up_to,
        "given": _EMPTY,
        "invalid": None,
        "field": None,
        "made": None,
        "secret": None,
        **context,
    }


def _ended_at(key: ApiKey) -> Any:
    return key.revoked_at or key.expires_at


def _day(text: str) -> datetime | None:
    """The start of a day that a form names. Raises InvalidField."""
    try:
        return from_iso(text) if text else None
    except ValueError:
        raise InvalidField.of("expires", say("must be a day such as 2027-01-31.")) from None
