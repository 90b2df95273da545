"""Writing a memory by hand: a note of a profile, which has a type and a name, or a plain fact."""

from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from memorist.errors import Conflict, Forbidden, Invalid, InvalidField, MemoristError, NameTaken
from memorist.memories.values import Draft
from memorist.platform import access
from memorist.platform.values import Owner, Principal
from memorist.surfaces.dashboard.refusals import in_words
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.wording import say, to_say

# The list adds its own routes to these.
pages = Pages()

TYPES = {
    "user": to_say("what somebody does, prefers, expects"),
    "feedback": to_say("a correction that should stick"),
    "project": to_say("how things stand"),
    "reference": to_say("where something is found"),
}
_FORMS = ("note", "fact")
_FIELDS = ("type", "name", "description", "body", "importance", "profile", "category", "project")
# What the core calls them, where the form does not.
_NAMES = {
    "note": {"content": "body", "category": "type", "agent": "profile"},
    "fact": {"content": "body", "agent": "profile"},
}
# A note has a type, and a plain fact a category.
_LABELS = {
    "note": {"agent": to_say("The profile")},
    "fact": {"agent": to_say("The profile"), "category": to_say("The category")},
}


@dataclass(slots=True)
class Form:
    """What was typed, and what is wrong with it."""

    kind: str
    values: dict[str, str]
    is_shared: bool = False
    errors: dict[str, str] = field(default_factory=dict)


@pages.get("/memories/new")
def show_new(visit: Visit) -> Response:
    access.require(visit.principal, access.Action.WRITE)
    given = visit.query.get("as", "note")
    form = Form(given if given in _FORMS else "note", dict.fromkeys(_FIELDS, ""))
    form.values |= {"profile": _usual_profile(visit.principal, form.kind), "importance": "0", "type": "user"}
    return _page(visit, form)


@pages.post("/memories/new")
def create(visit: Visit) -> Response:
    access.require(visit.principal, access.Action.WRITE)
    kind = visit.text("as")
    values = {name: visit.text(name) for name in _FIELDS}
    form = Form(kind if kind in _FORMS else "note", values, is_shared=visit.text("shared") == "yes")
    try:
        draft = _note(visit, form) if form.kind == "note" else _fact(visit, form)
        remembered = visit.core.facts.remember_all(visit.principal, [draft])[0]
    except (Invalid, Conflict, Forbidden) as error:
        form.errors = _told(form.kind, error)
        return _page(visit, form, status=visit.site.status_of(error))
    if not remembered.was_new:
        toast = Toast(say("That was remembered before: nothing was added."), "warn")
        return visit.redirect(f"{HOME}/memories", toast=toast)
    undo = f"{HOME}/memories/bulk/delete"
    return visit.redirect(f"{HOME}/memories", toast=Toast(say("Remembered."), undo=undo, ids=(remembered.memory.id,)))


def _note(visit: Visit, form: Form) -> Draft:
    values = form.values
    if values["type"] not in TYPES:
        raise InvalidField(say("The type must be one of the four."), field="type")
    if not form.is_shared and not values["profile"]:
        raise InvalidField(say("The profile must be named, or the memory shared by all of them."), field="profile")
    return Draft(
        content=values["body"],
        category=values["type"],
        name=values["name"],
        description=values["description"],
        importance=_whole("importance", values["importance"]),
        owner=Owner(visit.principal.user, None if form.is_shared else values["profile"]),
    )


def _fact(visit: Visit, form: Form) -> Draft:
    values = form.values
    return Draft(
        content=values["body"],
        category=values["category"] or None,
        project=values["project"] or None,
        owner=Owner(visit.principal.user, values["profile"] or None),
    )


def _whole(name: str, said: str) -> int:
    try:
        return int(said or "0")
    except ValueError:
        raise InvalidField.of(name, say("must be a whole number.")) from None


def _usual_profile(principal: Principal, kind: str) -> str:
    if principal.agent is not None:
        return principal.agent
    return access.DEFAULT_PROFILE if kind == "note" else ""


def _told(kind: str, error: MemoristError) -> dict[str, str]:
    """The message under the field it is about; '' where it is about none."""
    said = "name" if isinstance(error, NameTaken) else error.field or ""
    name = _NAMES[kind].get(said, said)
    return {name if name in _FIELDS else "": in_words(error, _LABELS[kind])}


def _page(visit: Visit, form: Form, *, status: int = 200) -> Response:
    context: dict[str, Any] = {"form": form, "types": TYPES, "profiles": _profiles(visit)}
    return visit.page("memory_new.html", section="memories", status=status, **context)


def _profiles(visit: Visit) -> list[str]:
    """The profiles that there are, to choose from."""
    return sorted(name for name in visit.core.browsing.facets(visit.principal).counts["profile"] if name)
