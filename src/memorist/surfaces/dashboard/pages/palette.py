"""The command palette: pages, things to do and memories, by a few letters."""

from starlette.responses import Response

from memorist.platform import folding
from memorist.surfaces.dashboard import rendering
from memorist.surfaces.dashboard.pages.memory_views import ListView, row_of
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Visit
from memorist.surfaces.dashboard.wording import say
from memorist.views.browsing import MAX_TEXT

pages = Pages()

_MEMORIES = 6


@pages.get("/palette")
def show(visit: Visit) -> Response:
    view = ListView.of({"q": visit.query.get("q", "")[:MAX_TEXT]})
    folded = folding.fold(view.text)
    commands = [one for one in _commands(visit) if folded in folding.fold(one[0])]
    found = visit.core.browsing.page(visit.principal, view.browse, limit=_MEMORIES).items if view.text else ()
    rows = [row_of(memory, view) for memory in found]
    return visit.part("parts/palette_found.html", commands=commands, rows=rows, view=view)


def _commands(visit: Visit) -> list[tuple[str, str]]:
    """What can be done, and where."""
    shown = [(item.label, item.address) for item in rendering.menu(is_admin=visit.is_admin)]
    done = [
        (say("Set up: connect an agent"), f"{HOME}/connect"),
        (say("Erase everything about me"), f"{HOME}/privacy#erase"),
    ]
    if visit.may_write:
        done.insert(0, (say("Write a new memory"), f"{HOME}/memories/new"))
    if visit.is_admin:
        done.append((say("Act for somebody else"), f"{HOME}/whose"))
    return shown + done
