"""What is known of a person: facts by topic, a timeline, who is mentioned, what changed and what is in doubt."""

from urllib.parse import urlencode

from starlette.responses import Response

from memorist.about.values import About
from memorist.errors import Forbidden, NotFound
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Visit
from memorist.surfaces.dashboard.wording import say, to_say

pages = Pages()

PAGE = f"{HOME}/about"
OF_ONE_PERSON = to_say("This page is about one person. Choose whose memories to look at.")
_LINES, _ALL_LINES, _READ_NOW = 5, 100, 5


@pages.get("/about")
def show(visit: Visit) -> Response:
    person = visit.query.get("person") or None
    shows_all = visit.query.get("all") == "1"
    about: About | None = None
    refusal, status = "", 200
    try:
        limit = _ALL_LINES if shows_all else _LINES
        about = visit.core.profiles.about(visit.principal, person, limit=limit, most_read=_READ_NOW)
    except Forbidden as error:
        # Whoever acts for nobody is in the wrong place, and did nothing wrong.
        refusal = say(OF_ONE_PERSON) if visit.is_admin else say(error.message)
    except NotFound as error:
        refusal, status = say(error.message), visit.site.status_of(error)
    of_person = urlencode({"person": person}) + "&" if person else ""
    return visit.page(
        "about.html",
        status=status,
        section="about",
        about=about,
        refusal=refusal,
        page=PAGE,
        all_lines=f"{PAGE}?{of_person}all=1" if about is not None and not shows_all and _has_more(about) else None,
    )


def _has_more(about: About) -> bool:
    return bool(about.more_mentioned or about.more_replaced or about.more_doubts) or any(
        slot.more for one in about.people for slot in one.slots
    )
