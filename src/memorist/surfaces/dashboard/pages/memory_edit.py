"""Editing a fact. What was typed is never lost: what is wrong with it is said beside it, and so is who was faster."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from memorist.errors import Conflict, InvalidField, MemoristError, StaleVersion
from memorist.memories.hashes import content_hash
from memorist.memories.values import Memory, NamedType
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.word_diff import overlaid
from memorist.surfaces.dashboard.wording import say

pages = Pages()

_LINES = ("category", "project", "description")


@pages.get("/memories/{id}/edit")
def show(visit: Visit) -> Response:
    memory = _editable(visit)
    return _form(visit, memory, _values(memory))


@pages.post("/memories/{id}/edit")
def save(visit: Visit) -> Response:
    try:
        memory = _editable(visit)
    except Conflict as error:
        # It was put away or replaced meanwhile.
        memory = visit.core.dossiers.get(visit.principal, visit.path("id")).memory
        return _form(visit, memory, _typed(visit, memory), error=error)
    typed = _typed(visit, memory)
    try:
        changes = _changes(memory, typed)
        visit.core.memories.edit(visit.principal, memory.id, changes, expected_version=visit.text("version"))
    except StaleVersion as error:
        merged = {name: now if _is_untouched(visit, name) else typed[name] for name, now in _values(memory).items()}
        return _form(visit, memory, merged, error=error, newer=overlaid(memory.content, merged["content"]))
    except (InvalidField, Conflict) as error:
        return _form(visit, memory, typed, error=error)
    toast = Toast(say("Saved.") if changes else say("Nothing was changed."))
    return visit.redirect(f"{HOME}/memories/{memory.id}", toast=toast)


def _editable(visit: Visit) -> Memory:
    """Raises NotEditable, NotFound or Forbidden."""
    return visit.core.dossiers.require_editable(visit.principal, visit.path("id"))


def _values(memory: Memory) -> dict[str, str]:
    values = {"content": memory.content, "importance": str(memory.importance)}
    values |= {name: getattr(memory, name) or "" for name in _LINES}
    # One without a name is not given one here: it would no longer be told from others by its text.
    return values if memory.name is None else {"name": memory.name, **values}


def _typed(visit: Visit, memory: Memory) -> dict[str, str]:
    return {name: visit.text(name) for name in _values(memory)}


def _is_untouched(visit: Visit, name: str) -> bool:
    """Whether a field is as the form came: what another changed there meanwhile is then nobody's conflict."""
    return content_hash(visit.text(name)) == visit.text(f"was_{name}")


def _changes(memory: Memory, typed: Mapping[str, str]) -> dict[str, Any]:
    """Raises InvalidField."""
    before = _values(memory)
    changed = {name: value for name, value in typed.items() if value != before[name].replace("\r\n", "\n").strip()}
    changes: dict[str, Any] = {name: value or None for name, value in changed.items() if name in (*_LINES, "name")}
    if "content" in changed:
        changes["content"] = changed["content"]
    if "importance" in changed:
        try:
            changes["importance"] = int(changed["importance"] or 0)
        except ValueError:
            raise InvalidField.of("importance", say("must be a whole number.")) from None
    return changes


def _form(visit: Visit, memory: Memory, values: Mapping[str, str], **said: Any) -> Response:
    error: MemoristError | None = said.get("error")
    return visit.page(
        "memory_edit.html",
        section="memories",
        status=200 if error is None else visit.site.status_of(error),
        memory=memory,
        values=values,
        hashes={name: content_hash(value.strip()) for name, value in _values(memory).items()},
        error=error,
        newer=said.get("newer"),
        types=_types_of(memory),
    )


def _types_of(memory: Memory) -> list[str]:
    """What a named memory can be about; one of before that was about something else can stay so."""
    return list(dict.fromkeys([*NamedType, *([memory.category] if memory.category else [])]))
