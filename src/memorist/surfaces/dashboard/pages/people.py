"""People and things: whom and what facts name, what is known of each, when, and who is named with whom."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from memorist.about.values import USER, NamedThing, NameGraph, ProfileLine
from memorist.errors import Forbidden, NotFound
from memorist.surfaces.dashboard.graph_picture import label_of, picture_of
from memorist.surfaces.dashboard.pages.about import OF_ONE_PERSON
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Visit
from memorist.surfaces.dashboard.wording import say

pages = Pages()

ADDRESS = f"{HOME}/people"
_DRAWN = 50
_NEIGHBOURS = 40
_ON_A_PAGE = 50
_LINES = 50


@pages.get("/people")
def show_list(visit: Visit) -> Response:
    """What most facts name as a picture, and all of it as a list that can be searched."""
    text = " ".join(visit.query.get("q", "").split())[:200]
    first = visit.number("from", 0, least=0, most=1_000_000)
    graph = _graph(visit)
    if isinstance(graph, Response):
        return graph
    found = graph.search(text)
    drawn = _drawn(graph, found, searched=bool(text))
    context: dict[str, Any] = {
        "graph": graph,
        "refusal": "",
        "text": text,
        "found": len(found),
        "listed": [_entry(one) for one in found[first : first + _ON_A_PAGE]],
        "picture": picture_of(graph, drawn),
        "drawn": len(drawn),
        "first": first,
        "before": _list_address(text, max(0, first - _ON_A_PAGE)) if first else None,
        "after": _list_address(text, first + _ON_A_PAGE) if first + _ON_A_PAGE < len(found) else None,
    }
    if visit.is_partial:
        return visit.part("parts/people_found.html", headers={"HX-Replace-Url": _list_address(text, 0)}, **context)
    return visit.page("people.html", section="people", **context)


@pages.get("/people/one")
def show(visit: Visit) -> Response:
    """What is known of one of them, or of two together."""
    name, other = visit.query.get("name", ""), visit.query.get("with", "")
    graph = _graph(visit)
    if isinstance(graph, Response):
        return graph
    thing, second = graph.find(name), graph.find(other) if other else None
    if thing is None or (other and second is None):
        raise NotFound(say("No fact names that."))
    lines = thing.lines if second is None else graph.together(thing.key, second.key)
    near = graph.neighbours(thing.key)
    return visit.page(
        "person.html",
        section="people",
        thing=thing,
        label=label_of(thing),
        second=None if second is None else label_of(second),
        address=address_of(thing),
        lines=lines[:_LINES],
        more=max(0, len(lines) - _LINES),
        timeline=_timeline(lines)[:_LINES],
        near=[(_entry(one), count, address_of(thing, one)) for one, count in near[:_NEIGHBOURS]],
        more_near=max(0, len(near) - _NEIGHBOURS),
        picture=picture_of(graph, [thing, *(one for one, _ in near[:_NEIGHBOURS])]),
        graph=graph,
    )


def _graph(visit: Visit) -> NameGraph | Response:
    """What the facts of whom they are name, or what is said to those who act for nobody."""
    try:
        return visit.core.profiles.named(visit.principal)
    except Forbidden as error:
        # They are in the wrong place, and did nothing wrong.
        return visit.page(
            "people.html", section="people", refusal=say(OF_ONE_PERSON) if visit.is_admin else say(error.message)
        )


def address_of(thing: NamedThing, other: NamedThing | None = None) -> str:
    return f"{ADDRESS}/one?{urlencode({'name': thing.name} | ({'with': other.name} if other else {}))}"


def _list_address(text: str, first: int) -> str:
    query = urlencode({name: value for name, value in (("q", text), ("from", first)) if value})
    return f"{ADDRESS}?{query}" if query else ADDRESS


def _entry(thing: NamedThing) -> dict[str, Any]:
    return {"thing": thing, "label": label_of(thing), "address": address_of(thing)}


def _drawn(graph: NameGraph, found: Sequence[NamedThing], *, searched: bool) -> list[NamedThing]:
    """Who is in the picture: the user in the middle of what most facts name or, of what was searched, what was found
    first in the middle of its neighbours.
    """
    if searched:
        return [] if not found else [found[0], *(one for one, _ in graph.neighbours(found[0].key)[:_NEIGHBOURS])]
    user = graph.find(USER)
    return ([user] if user else []) + [one for one in found[: _DRAWN + 1] if one != user][: _DRAWN - bool(user)]


def _timeline(lines: Sequence[ProfileLine]) -> list[ProfileLine]:
    """The facts that name a day, the first first."""
    return sorted((line for line in lines if line.day), key=lambda line: (line.day or "", line.memory_id))
