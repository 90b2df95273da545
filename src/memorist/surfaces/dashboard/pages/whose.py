"""Whose memories an admin looks at: a user, an agent, or everybody, found by name."""

from typing import Any

from starlette.responses import Response

from memorist.platform import access
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Visit

pages = Pages()

_LONGEST = 128


@pages.get("/whose")
def show(visit: Visit) -> Response:
    access.require(visit.principal, access.Action.ADMINISTER)
    asked = visit.query.get("q", "").strip()[:_LONGEST]
    context: dict[str, Any] = {
        "asked": asked,
        "back": visit.query.get("back", HOME),
        "found": visit.core.overview.find_owners(visit.principal, asked),
    }
    if visit.is_partial:
        return visit.part("parts/whose_found.html", **context)
    return visit.page("whose.html", section="", **context)
