"""Activity: what changed and what was recalled, as it happens and back in time."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from memorist.errors import InvalidField
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.streams import activity_stream, position_text
from memorist.surfaces.dashboard.visits import HOME, Visit
from memorist.surfaces.dashboard.wording import say, to_say
from memorist.views.activity import CHANGES, RECALLED, ActivityFilter

pages = Pages()

ADDRESS = f"{HOME}/activity"
_ON_A_PAGE = 50
_FILTERS = ("what", "who", "since")
_TONES = {"created": "good", "restored": "good", "deleted": "warn", "erased": "bad", RECALLED: "accent"}

_DOORS = {
    "agent_tools": to_say("through an agent’s tools"),
    "claude_code": to_say("through a coding assistant"),
    "cli": to_say("on the command line"),
    "coding_assistant": to_say("through a coding assistant"),
    "companion": to_say("through a companion"),
    "dashboard": to_say("in the dashboard"),
    "events": to_say("through the API"),
    "facts": to_say("through the API"),
    "http": to_say("through the API"),
    "library": to_say("through the API"),
    "lifecycle": to_say("through the API"),
    "mcp": to_say("through MCP"),
    "profiles": to_say("through an agent’s profile"),
    "records": to_say("through the API"),
    "sweeper": to_say("by retention"),
}


@pages.get("/activity")
def show(visit: Visit) -> Response:
    cursor = visit.query.get("cursor") or None
    page = visit.core.activity.page(visit.principal, wanted_by(visit.query), limit=_ON_A_PAGE, cursor=cursor)
    kept = {name: said for name in _FILTERS if (said := visit.query.get(name, "").strip())}
    return visit.page(
        "activity.html",
        section="activity",
        tab="feed",
        page=page,
        asked={name: kept.get(name, "") for name in _FILTERS},
        choices=told_words(),
        first=f"{ADDRESS}?{urlencode(kept)}" if kept else ADDRESS,
        older=f"{ADDRESS}?{urlencode(kept | {'cursor': page.next_cursor})}" if page.next_cursor else None,
        events=f"{ADDRESS}/events?{urlencode(kept)}" if cursor is None else None,
        position=position_text(page.position),
        **words(),
    )


@pages.get("/activity/events")
def follow(visit: Visit) -> Response:
    return activity_stream(visit, wanted_by(visit.query), words())


def wanted_by(query: Mapping[str, str]) -> ActivityFilter:
    """Raises InvalidField."""
    what, who, since = (query.get(name, "").strip() for name in _FILTERS)
    if what and what not in told_words() and what != CHANGES:
        raise InvalidField(say("That is not something that happens here."), field="what")
    try:
        day = datetime.combine(date.fromisoformat(since), time.min, UTC) if since else None
    except ValueError:
        raise InvalidField(say("Write a day such as 2027-05-08."), field="since") from None
    return ActivityFilter(what, who, day)


def words() -> dict[str, Any]:
    """What an entry of the feed is told with."""
    return {"told": told_words(), "tones": _TONES, "doors": _DOORS, "is_new": False}


def told_words() -> dict[str, str]:
    return {
        "created": say("Remembered"),
        "updated": say("Edited"),
        "superseded": say("Replaced"),
        "replaced": say("Replaced by a newer version"),
        "restored": say("Restored"),
        "archived": say("Archived"),
        "expired": say("Reached its end date"),
        "deleted": say("Deleted"),
        "hard_delete_pending": say("Past recovery"),
        "anonymized": say("Made anonymous"),
        "detached": say("Lost its source"),
        "erased": say("Erased for good"),
        RECALLED: say("Recalled"),
    }
