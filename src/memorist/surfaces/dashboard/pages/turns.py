"""Turns: what was asked and answered with memory, live."""

from typing import Any

from starlette.responses import Response

from memorist.platform import access
from memorist.platform.paging import Page
from memorist.surfaces.dashboard.pages.turn_steps import answer_of, asked_of, model_of, requested, steps_of
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.streams import turn_stream
from memorist.surfaces.dashboard.visits import Visit
from memorist.turns.values import Turn, TurnStatus
from memorist.views.turn_stories import TurnStory

_TURNS = 20

pages = Pages()


@pages.get("/turns")
def show(visit: Visit) -> Response:
    return visit.page("turns.html", section="turns", **_listed(visit))


@pages.get("/turns/list")
def show_list(visit: Visit) -> Response:
    """The newest turns alone, for a page that shows one that runs."""
    return visit.part("parts/turn_list.html", **_listed(visit))


@pages.get("/turns/{id}")
def show_turn(visit: Visit) -> Response:
    story = visit.core.turn_stories.tell(visit.principal, visit.path("id"))
    if visit.is_partial:
        return visit.part("parts/turn_story.html", **_told(story))
    return visit.page("turn.html", section="turns", **_told(story))


@pages.get("/turns/{id}/steps")
def show_steps(visit: Visit) -> Response:
    story = visit.core.turn_stories.tell(visit.principal, visit.path("id"))
    return visit.part("parts/turn_steps.html", **_told(story))


@pages.get("/turns/{id}/events")
def follow(visit: Visit) -> Response:
    return turn_stream(visit, visit.path("id"))


# What the templates are given


def _listed(visit: Visit) -> dict[str, Any]:
    cursor = visit.query.get("cursor") or None
    page: Page[Turn] = Page((), None)
    is_somebody = access.reads_entries(visit.principal)
    if is_somebody:
        page = visit.core.turns.list(visit.principal, limit=_TURNS, cursor=cursor)
    return {
        "turns": [(turn, _glimpse(turn)) for turn in page.items],
        "next_cursor": page.next_cursor,
        "cursor": cursor,
        "is_somebody": is_somebody,
        "is_running": cursor is None and any(turn.status is TurnStatus.RUNNING for turn in page.items),
    }


def _told(story: TurnStory) -> dict[str, Any]:
    turn = story.turn
    return {
        "turn": turn,
        "is_running": turn.status is TurnStatus.RUNNING,
        "asked": asked_of(story),
        "answer": answer_of(story),
        "model": model_of(story),
        "steps": steps_of(story),
        "story": story,
        "last": story.events[-1].seq if story.events else 0,
    }


def _glimpse(turn: Turn) -> str:
    if turn.status is TurnStatus.FAILED:
        return (turn.error or {}).get("message", "")
    if turn.answer is not None:
        return turn.answer[:300]
    return "".join(requested(turn)[-1:])[:300]
