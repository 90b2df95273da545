"""Audit: who read, wrote and was refused what. For admins."""

from dataclasses import replace
from urllib.parse import urlencode

from starlette.responses import Response

from memorist.platform import access
from memorist.platform.acts import ActKind
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Visit

pages = Pages()

_ADDRESS = f"{HOME}/audit"
_ON_A_PAGE = 50
_FILTERS = ("kind", "outcome", "route", "key", "user", "about")


@pages.get("/audit")
def show(visit: Visit) -> Response:
    access.require(visit.principal, access.Action.ADMINISTER)
    # The whole tenant's, whosever memories are looked at.
    admin = replace(visit.principal, user=None, agent=None)
    asked = {name: visit.query.get(name, "").strip() for name in _FILTERS}
    page = visit.core.audit.list(admin, **asked, limit=_ON_A_PAGE, cursor=visit.query.get("cursor") or None)
    kept = {name: value for name, value in asked.items() if value}
    more = f"{_ADDRESS}?{urlencode(kept | {'cursor': page.next_cursor})}" if page.next_cursor else None
    return visit.page(
        "audit.html",
        section="audit",
        entries=page.items,
        asked=asked,
        kinds=list(ActKind),
        is_first="cursor" not in visit.query,
        more=more,
        first=f"{_ADDRESS}?{urlencode(kept)}",
        level=visit.settings.audit,
        days=visit.settings.audit_days,
        labels={key.id: key.label or key.user or "" for key in visit.core.identity.list_keys(admin)},
    )


@pages.post("/audit/verify")
def verify(visit: Visit) -> Response:
    """Look through the whole chain, which takes a while where it is long."""
    check = visit.core.audit.verify(replace(visit.principal, user=None, agent=None))
    return visit.page("audit_check.html", section="audit", check=check)
