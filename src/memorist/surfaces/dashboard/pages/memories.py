"""Memories: the list, searched while one types, narrowed down, sorted, and changed many at a time."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from starlette.responses import Response

from memorist.errors import InvalidField
from memorist.memories.accesses import unnoted
from memorist.memories.bulk import BulkAction, BulkResult
from memorist.memories.values import Status
from memorist.platform import folding
from memorist.recall.values import Question
from memorist.surfaces.dashboard import rendering
from memorist.surfaces.dashboard.pages import saved_filters
from memorist.surfaces.dashboard.pages.memory_forms import pages
from memorist.surfaces.dashboard.pages.memory_views import (
    ADDRESS,
    SORTS,
    STATES,
    ListView,
    groups_of,
    row_of,
    state_of,
)
from memorist.surfaces.dashboard.refusals import in_words
from memorist.surfaces.dashboard.visits import Toast, Visit
from memorist.surfaces.dashboard.wording import number, say, to_say
from memorist.views.values import Facets

__all__ = ["pages"]

_PAGE = 50
_BY_MEANING = 8
# A toast that waits for the next page keeps no more than this many ids.
_MOST_UNDONE_LATER = 50

# What a list calls the fields that many are changed in.
_NAMES = {"agent": to_say("The profile")}
_DONE = {
    BulkAction.ARCHIVE: (to_say("{count} archived."), to_say("{count} archived, {refused} could not be: {reason}")),
    BulkAction.DELETE: (to_say("{count} deleted."), to_say("{count} deleted, {refused} could not be: {reason}")),
    BulkAction.RESTORE: (to_say("{count} restored."), to_say("{count} restored, {refused} could not be: {reason}")),
}
_PUT_BACK = (to_say("{count} put back."), to_say("{count} put back, {refused} could not be: {reason}"))
_RELABELLED = (to_say("{count} relabelled."), to_say("{count} relabelled, {refused} could not be: {reason}"))
_MOVED = (to_say("{count} moved."), to_say("{count} moved, {refused} could not be: {reason}"))


@pages.get("/memories")
def show(visit: Visit) -> Response:
    view, shown = ListView.of(visit.query), _shown_now(visit)
    if shown is not None and shown.state != view.state and shown.kind == view.kind:
        # The form tells the kind that was shown in the other state.
        view = replace(view, kind=shown.kind_in(view.state))
    cursor = visit.query.get("cursor") or None
    saved = saved_filters.of(visit)
    listed = {**_listed(visit, view, cursor), "saved": saved, "is_saved": view.address() in saved.values()}
    if cursor is not None and visit.is_partial:
        return visit.part("parts/memories_rows.html", **listed)
    if not visit.is_partial:
        beside = _narrowing(visit, view)
        context = {
            "sorts": {order: say(label) for order, label in SORTS.items()},
            **listed,
            **beside,
        }
        return visit.page("memories.html", section="memories", told=_counted(listed, beside), **context)
    # Who types stays at one place of the history; who narrows down can go back.
    is_typing = shown is not None and replace(shown, text=view.text) == view
    is_counted_alike = is_typing and shown is not None and shown.is_counted == view.is_counted
    narrowing = None if is_counted_alike else _narrowing(visit, view)
    return visit.part(
        "parts/memories_found.html",
        headers={"HX-Replace-Url" if is_typing else "HX-Push-Url": view.address()},
        beside=narrowing,
        told=_counted(listed, narrowing),
        **listed,
    )


def _listed(visit: Visit, view: ListView, cursor: str | None) -> dict[str, Any]:
    browsing = visit.core.browsing
    page, found = browsing.page(visit.principal, view.browse, limit=_PAGE, cursor=cursor), view
    if view.text and cursor is None and not page.items and page.next_cursor is None:
        # Nothing is spelt so: what is spelt nearly so comes instead.
        near = replace(view, near="1")
        nearly = browsing.page(visit.principal, near.browse, limit=_PAGE)
        page, found = (nearly, near) if nearly.items or nearly.next_cursor is not None else (page, view)
    return {
        "view": view,
        "is_near": found.near == "1",
        "rows": [row_of(memory, found) for memory in page.items],
        "page": page,
        "is_first": cursor is None,
        "more": None if page.next_cursor is None else found.address(page.next_cursor),
    }


def _counted(listed: Mapping[str, Any], beside: Mapping[str, Any] | None) -> str:
    """How many there are, as far as that is known."""
    shown = len(listed["rows"])
    if listed["more"] is None and listed["is_first"]:
        return say("{count} found", count=number(shown))
    chosen = next((one.count for one in (beside or {}).get("states", ()) if one.is_chosen), None)
    if chosen is not None:
        return say("{count} found", count=number(chosen))
    return say("more than {count} found", count=number(shown))


@pages.get("/memories/meaning")
def show_meaning(visit: Visit) -> Response:
    """What means the same in other words: what recall finds, but not what the list shows already."""
    view = ListView.of(visit.query)
    words = folding.fold(view.text).split()
    kinds = [view.browse.kind] if view.browse.kind is not None else None
    question = Question(view.text, top_k=_BY_MEANING, source_kinds=kinds, enable_rerank=False)
    with unnoted():
        hits = visit.core.recall.recall(visit.principal, question).hits
    others = [hit.memory for hit in hits if not all(word in folding.fold(hit.memory.content) for word in words)]
    return visit.part("parts/memories_meaning.html", rows=[row_of(one, view) for one in others], view=view)


def _narrowing(visit: Visit, view: ListView) -> dict[str, Any]:
    # Deleted memories are shown to those who can restore them.
    offered = [name for name in STATES if visit.may_write or name not in ("deleted", "all")]
    counted: dict[str, Facets] = {}
    for kind in {view.kind, *map(view.kind_in, offered)}:
        counted[kind] = visit.core.browsing.facets(visit.principal, replace(view, kind=kind).browse)
    return {
        "facets": counted[view.kind],
        "states": [state_of(view, name, counted[view.kind_in(name)]) for name in offered],
        "groups": groups_of(view, counted[view.kind]),
    }


def _shown_now(visit: Visit) -> ListView | None:
    """The list that the page shows which asks for another, as far as its address tells."""
    address = urlsplit(visit.request.headers.get("hx-current-url", ""))
    return ListView.of(dict(parse_qsl(address.query))) if address.path == ADDRESS else None


# Many at a time


@pages.post("/memories/bulk/undo")
def undo(visit: Visit) -> Response:
    result = visit.core.bulk.put_back(visit.principal, dict(map(_wanted, visit.texts("id"))))
    return visit.redirect(_back(visit), toast=Toast(_told(result, _PUT_BACK), tone=_tone(result)))


@pages.post("/memories/bulk/export")
def export(visit: Visit) -> Response:
    """The selection as lines of JSON, as `memorist import` reads them."""
    lines = "\n".join(visit.core.transfer.export_some(visit.principal, visit.texts("id")))
    headers = {"Content-Disposition": f'attachment; filename="memorist-{visit.core.clock.now():%Y-%m-%d}.jsonl"'}
    response = Response(lines + "\n", media_type="application/x-ndjson", headers=headers)
    rendering.protect(response)
    return response


@pages.post("/memories/bulk/label")
def label(visit: Visit) -> Response:
    """Give the selection another type; '' takes it away."""
    result = visit.core.bulk.edit(visit.principal, visit.texts("id"), category=visit.text("category"))
    return visit.redirect(_back(visit), toast=Toast(_told(result, _RELABELLED), _tone(result)))


@pages.post("/memories/bulk/move")
def move(visit: Visit) -> Response:
    """Move the selection to a profile."""
    if not (profile := visit.text("profile")):
        raise InvalidField(say("Name the profile to move them to."), field="profile")
    result = visit.core.bulk.edit(visit.principal, visit.texts("id"), profile=profile)
    return visit.redirect(_back(visit), toast=Toast(_told(result, _MOVED), _tone(result)))


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
    beside = _narrowing(visit, view)
    # Counted as the list would be if it were loaded anew.
    listed = _listed(visit, view, None)
    return visit.part(
        "parts/memories_changed.html",
        toast=toast,
        rows=[row_of(one.after, view) for one in result.changed if one.after.status in stay],
        gone=[one.after.id for one in result.changed if one.after.status not in stay],
        beside=beside,
        told=_counted(listed, beside),
        is_near=listed["is_near"],
        view=view,
    )


def _action(name: str) -> BulkAction:
    try:
        return BulkAction(name)
    except ValueError:
        raise InvalidField(say("There is no such action."), field="action") from None


def _wanted(said: str) -> tuple[str, Status]:
    memory_id, _, status = said.partition(":")
    try:
        return memory_id, Status(status)
    except ValueError:
        raise InvalidField(say("There is no such state."), field="id") from None


def _back(visit: Visit) -> str:
    """The list that a form was on; never another page."""
    query: Mapping[str, str] = dict(parse_qsl(urlsplit(visit.text("back") or visit.query.get("back", "")).query))
    return ListView.of(query).address()


def _told(result: BulkResult, texts: tuple[str, str]) -> str:
    """`texts` say that all went well, and that some did not."""
    count, refused = number(len(result.changed)), number(len(result.refused))
    if not result.refused:
        return say(texts[0], count=count)
    return say(texts[1], count=count, refused=refused, reason=in_words(result.refused[0].error, _NAMES))


def _tone(result: BulkResult) -> str:
    return "good" if not result.refused else "warn" if result.changed else "bad"
