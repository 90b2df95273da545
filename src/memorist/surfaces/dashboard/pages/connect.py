"""Set up: lines to give an agent its memory, and sample data to look around with."""

from typing import Any

from starlette.responses import Response

from memorist.errors import InvalidField, MemoristError
from memorist.platform.values import Role
from memorist.surfaces.dashboard.pages.snippets import PLACEHOLDER, snippets
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.wording import number, say

pages = Pages()

PAGE = f"{HOME}/connect"
_KEY_LABEL = "made on the dashboard"


@pages.get("/connect")
def show(visit: Visit) -> Response:
    return visit.page("connect.html", section="connect", **setting_up(visit))


@pages.post("/connect/key")
def make_key(visit: Visit) -> Response:
    """A key for the snippets. It is in this answer and nowhere else."""
    user = visit.principal.user or visit.text("user")
    if not user:
        raise InvalidField(say("Name the user that the key is for."), field="user")
    key, secret = visit.core.identity.create_key(visit.principal, Role.USER, user=user, label=_KEY_LABEL)
    if visit.is_partial:
        response = visit.part("parts/home_snippets.html", **_snippets(visit, secret), made=key)
    else:
        response = visit.page("connect.html", section="connect", **setting_up(visit, secret) | {"made": key})
    response.headers["Cache-Control"] = "no-store"
    return response


@pages.post("/samples")
def add_samples(visit: Visit) -> Response:
    count = visit.core.sample_data.add(visit.principal)
    said = say("{count} sample memories are here. “Set up” erases them again.", count=number(count))
    return visit.redirect(HOME, toast=Toast(said))


@pages.post("/samples/remove")
def remove_samples(visit: Visit) -> Response:
    receipt = visit.core.sample_data.remove(visit.principal)
    gone = receipt.counts.get("memories", 0)
    toast = Toast(say("{count} sample memories are erased.", count=number(gone)))
    return visit.redirect(f"{PAGE}?receipt={receipt.id}#samples", toast=toast)


def setting_up(visit: Visit, secret: str | None = None) -> dict[str, Any]:
    """What the parts show that help to set up."""
    return {
        "samples": visit.core.sample_data.count(visit.principal),
        "receipt": _receipt(visit),
        "can_remember": can_remember(visit),
        "made": None,
        **_snippets(visit, secret),
    }


def can_remember(visit: Visit) -> bool:
    return visit.may_write and (visit.principal.user is not None or visit.is_admin)


def _snippets(visit: Visit, secret: str | None) -> dict[str, Any]:
    return {"snippets": snippets(visit.address, secret or PLACEHOLDER), "secret": secret}


def _receipt(visit: Visit) -> Any:
    receipt_id = visit.query.get("receipt", "")
    try:
        return visit.core.erasure.get(visit.principal, receipt_id) if receipt_id else None
    except MemoristError:
        return None
