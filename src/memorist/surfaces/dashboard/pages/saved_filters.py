"""Lists of memories that somebody saved under a name, in a cookie of their browser."""

import hashlib
import json
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from starlette.responses import Response

from memorist.errors import InvalidField
from memorist.surfaces.dashboard.pages.memory_views import ListView
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Visit, of_this_server
from memorist.surfaces.dashboard.wording import say

pages = Pages()

_MOST = 12
_LONGEST_NAME = 40
# A browser keeps no longer cookie.
_LONGEST = 3500


def of(visit: Visit) -> dict[str, str]:
    """Each saved list by its name, as its address."""
    try:
        kept = json.loads(unquote(visit.request.cookies.get(_cookie(visit), "{}")))
        return {str(name): _checked(str(address)) for name, address in kept.items()}
    except (ValueError, AttributeError):
        return {}


@pages.post("/memories/filters")
def save(visit: Visit) -> Response:
    name = " ".join(visit.text("name").split())
    if not name or len(name) > _LONGEST_NAME:
        raise InvalidField(say("Give the list a name of 1 to {most} letters.", most=_LONGEST_NAME), field="name")
    address = _checked(visit.text("address"))
    return _keep(visit, {name: address} | of(visit) | {name: address}, address)


@pages.post("/memories/filters/remove")
def remove(visit: Visit) -> Response:
    kept = {name: address for name, address in of(visit).items() if name != visit.text("name")}
    return _keep(visit, kept, _checked(visit.text("address")))


def _keep(visit: Visit, filters: dict[str, str], back: str) -> Response:
    response = visit.redirect(back)
    text = quote(json.dumps(filters, separators=(",", ":")))
    if len(filters) > _MOST or len(text) > _LONGEST:
        raise InvalidField(say("These are too many lists for a browser to keep: remove one first."), field="name")
    secure = visit.request.url.scheme == "https"
    response.set_cookie(
        _cookie(visit), text, max_age=365 * 86400, path=HOME, httponly=True, samesite="lax", secure=secure
    )
    return response


def _cookie(visit: Visit) -> str:
    """Each key's user has their own, without being named."""
    holder = visit.session.key
    digest = hashlib.sha256(f"{visit.principal.tenant}\n{holder.user or ''}".encode()).hexdigest()[:8]
    return of_this_server(visit.request, f"memorist_filters_{digest}")


def _checked(address: str) -> str:
    """The list that an address asks for; never another page."""
    return ListView.of(dict(parse_qsl(urlsplit(address).query))).address()
