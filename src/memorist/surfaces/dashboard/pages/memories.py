"""Memories: the list, searched while one types, narrowed down, sorted, and changed many at a time."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from starlette.responses import Response

from memorist.errors import InvalidField
from memorist.memories.bulk import BulkAction, BulkResult
from memorist.memories.values import Status
from memorist.surfaces.dashboard.pages.memory_forms import pages
from memorist.surfaces.dashboard.pages.memory_views import (
    ADDRESS,
    SORTS,
    STATES,
    ListView,
    groups_of,
    row_of,
    states_of,
)
from memorist.surfaces.dashboard.visits import Toast, Visit
from memorist.views.values import Facets

__all__ = ["pages"]

_PAGE = 50
# A toast that waits for the next page keeps no more than this many ids.
_MOST_UNDONE_LATER = 50

_DONE = {BulkAction.ARCHIVE: "archived", BulkAction.DELETE: "deleted", BulkAction.RESTORE: "restored"}


@pages.get("/memories")
def show(visit: Visit) -> Response:
    view = ListView.of(visit.query)
    cursor = visit.query.get("cursor") or None
    listed = _listed(visit, view, cursor)
    if not visit.is_partial:
        return visit.page("memories.html", section="memories", sorts=SORTS, **listed, **_narrowing(visit, view))
    if cursor is not None:
        return visit.part("parts/memories_rows.html", **listed)
    shown = _shown_now(visit)
    # Who types stays at one place of the history; who narrows down can go back.
    is_typing = shown is not None and replace(shown, text=view.text) == view
    is_counted_alike = is_typing and shown is not None and shown.is_counted == view.is_counted
    return visit.part(
        "parts/memories_found.html",
        headers={"HX-Replace-Url" if is_typing else "HX-Push-Url": view.address()},
        beside=None if is_counted_alike else _narrowing(visit, view),
        **listed,
    )


def _listed(visit: Visit, view: ListView, cursor: str | None) -> dict[str, Any]:
    page = visit.core.browsing.page(visit.principal, view.browse, limit=_PAGE, cursor=cursor)
    return {
        "view": view,
        "rows": [row_of(memory) for memory in page.items],
        "page": page,
        "is_first": cursor is None,
        "more": None if page.next_cursor is None else view.address(page.next_cursor),
    }


def _narrowing(visit: Visit, view: ListView) -> dict[str, Any]:
    facets = visit.core.browsing.facets(visit.principal, view.browse)
    return {
        "facets": facets,
        "states": _offered_states(visit, view, facets),
        "groups": groups_of(view, facets),
    }


def _offered_states(visit: Visit, view: ListView, facets: Facets) -> list[Any]:
    # Deleted memories are shown to those who can restore them.
    return [choice for choice in states_of(view, facets) if visit.may_write or choice.value not in ("deleted", "all")]


def _shown_now(visit: Visit) -> ListView | None:
    """The list that the page shows which asks, as far as its address tells."""
    address = urlsplit(visit.request.headers.get("hx-current-url", ""))
    return ListView.of(dict(parse_qsl(address.query))) if address.path == ADDRESS else None


# Many at a time


@pages.post("/memories/bulk/undo")
def undo(visit: Visit) -> Response:
    result = visit.core.bulk.put_back(visit.principal, dict(map(_wanted, visit.texts("id"))))
    return visit.redirect(_back(visit), toast=Toast(_told(result, "put back"), tone=_tone(result)))


@pages.post("/memories/bulk/{action}")
def change(visit: Visit) -> Response:
    action = _action(visit.path("action"))
    result = visit.core.bulk.apply(visit.principal, action, visit.texts("id"))
    back = _back(visit)
    ids = tuple(f"{one.after.id}:{one.undo_to}" for one in result.changed if one.undo_to is not None)
    undo = f"{ADDRESS}/bulk/undo?back={quote(back, safe='')}"
    toast = Toast(_told(result, _DONE[action]), _tone(result), undo if ids else None, ids)
    if not visit.is_partial:
        return visit.redirect(
            back, toast=toast if len(ids) <= _MOST_UNDONE_LATER else replace(toast, undo=None, ids=())
        )
    view = ListView.of(dict(parse_qsl(urlsplit(back).query)))
    stay = STATES[view.state]
    return visit.part(
        "parts/memories_changed.html",
        toast=toast,
        rows=[row_of(one.after) for one in result.changed if one.after.status in stay],
        gone=[one.after.id for one in result.changed if one.after.status not in stay],
        beside=_narrowing(visit, view),
        view=view,
    )


def _action(name: str) -> BulkAction:
    try:
        return BulkAction(name)
    except ValueError:
        raise InvalidField("There is no such action.", field="action") from None


def _wanted(said: str) -> tuple[str, Status]:
    memory_id, _, status = said.partition(":")
    try:
        return memory_id, Status(status)
    except ValueError:
        raise InvalidField("There is no such state.", field="id") from None


def _back(visit: Visit) -> str:
    """The list that a form was on; never another page."""
    query: Mapping[str, str] = dict(parse_qsl(urlsplit(visit.text("back") or visit.query.get("back", "")).query))
    return ListView.of(query).address()


def _told(result: BulkResult, done: str) -> str:
    told = f"{len(result.changed):,} {done}"
    if not result.refused:
        return f"{told}."
    reason = result.refused[0].error.message
    return f"{told}, {len(result.refused):,} could not be: {reason}"


def _tone(result: BulkResult) -> str:
    return "good" if not result.refused else "warn" if result.changed else "bad"
