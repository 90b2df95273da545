"""One memory: what it says, where it comes from, how it changed, what comes next, and what can be done about it."""

from collections.abc import Callable
from typing import Any

from starlette.responses import PlainTextResponse, Response

from memorist.errors import Conflict
from memorist.facts.values import FactVersion
from memorist.ids import parse_id
from memorist.memories.governance import RULES
from memorist.memories.kinds import KINDS
from memorist.memories.values import Kind, Memory, Status
from memorist.platform.values import Principal
from memorist.surfaces.dashboard import rendering
from memorist.surfaces.dashboard.pages.memory_rules import what_may_happen
from memorist.surfaces.dashboard.pages.memory_story import SourceLine, line_of, versions_of
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.wording import say, to_say
from memorist.views.dossiers import Dossier

pages = Pages()

_LONGEST_TEXT = 20_000
_LONGEST_OUTPUT = 500_000
CONFIRMATION = to_say("erase")

STATES = {
    Status.ACTIVE: to_say("Active"),
    Status.ARCHIVED: to_say("Archived"),
    Status.SOFT_DELETED: to_say("Deleted"),
    Status.HARD_DELETE_PENDING: to_say("Past recovery"),
    Status.PURGED: to_say("Purged"),
}
EVENTS = {
    "created": to_say("Remembered"),
    "deduplicated": to_say("Said again"),
    "updated": to_say("Edited"),
    "archived": to_say("Archived"),
    "superseded": to_say("Replaced by another fact"),
    "supersedes": to_say("Took the place of another fact"),
    "judged": to_say("Compared with other facts"),
    "doubt_dismissed": to_say("Doubt settled: both hold"),
    "doubt_reopened": to_say("In doubt again"),
    "restored": to_say("Restored"),
    "deleted": to_say("Deleted"),
    "expired": to_say("Expired"),
    "replaced": to_say("Replaced by a newer version"),
    "redacted": to_say("Secrets taken out"),
    "extracted": to_say("Read for facts"),
    "extraction_failed": to_say("Not read by the language model"),
    "detached": to_say("Its source was erased"),
    "read_for_user": to_say("Read on the user's behalf"),
    "anonymized": to_say("Anonymized"),
    "hard_delete_pending": to_say("Past recovery"),
}


@pages.get("/memories/{id}")
def show(visit: Visit) -> Response:
    dossier = visit.core.dossiers.get(visit.principal, visit.path("id"))
    return visit.page("memory.html", section="memories", **_shown(visit, dossier))


@pages.get("/memories/{id}/panel")
def show_panel(visit: Visit) -> Response:
    """The same beside a list."""
    dossier = visit.core.dossiers.get(visit.principal, visit.path("id"))
    return visit.part("parts/memory_panel.html", **_shown(visit, dossier))


@pages.get("/memories/{id}/output")
def show_output(visit: Visit) -> Response:
    """All that a tool returned; of very much the beginning, and the rest as a file."""
    memory, output = visit.core.dossiers.payload(visit.principal, visit.path("id"))
    shown = output[:_LONGEST_OUTPUT]
    return visit.page("memory_output.html", section="memories", memory=memory, shown=shown, length=len(output))


@pages.get("/memories/{id}/output/file")
def download_output(visit: Visit) -> Response:
    memory, output = visit.core.dossiers.payload(visit.principal, visit.path("id"))
    headers = {"Content-Disposition": f'attachment; filename="{memory.id}.txt"'}
    response = PlainTextResponse(output, headers=headers)
    rendering.protect(response)
    return response


@pages.post("/memories/{id}/archive")
def archive(visit: Visit) -> Response:
    return _move(visit, visit.core.retention.archive, say("Archived: it no longer comes back in recall."), undo=True)


@pages.post("/memories/{id}/restore")
def restore(visit: Visit) -> Response:
    return _move(visit, visit.core.retention.restore, say("Restored: it is active again."))


@pages.post("/memories/{id}/delete")
def delete(visit: Visit) -> Response:
    return _move(visit, visit.core.retention.delete, say("Deleted. It can be restored for a while."), undo=True)


@pages.post("/memories/{id}/erase")
def erase(visit: Visit) -> Response:
    memory_id = parse_id("mem", visit.path("id"))
    if visit.text("confirm").lower() != say(CONFIRMATION):
        toast = Toast(say("Nothing was erased. Type “{word}” to confirm.", word=say(CONFIRMATION)), tone="bad")
        return visit.redirect(_address(memory_id), toast=toast)
    receipt = visit.core.erasure.erase(visit.principal, [memory_id])
    toast = Toast(say("Erased for good. This is the receipt."))
    return visit.redirect(f"{HOME}/privacy/receipts/{receipt.id}", toast=toast)


def _move(visit: Visit, move: Callable[[Principal, str], Memory], said: str, *, undo: bool = False) -> Response:
    memory_id = parse_id("mem", visit.path("id"))
    try:
        memory = move(visit.principal, memory_id)
    except Conflict as error:
        # Somebody was faster, or its text is active elsewhere: the page shows how it is now.
        return visit.redirect(_address(memory_id), toast=Toast(say(error.message), tone="bad"))
    back = f"{_address(memory.id)}/restore" if undo else None
    return visit.redirect(_address(memory.id), toast=Toast(said, undo=back))


def _address(memory_id: str) -> str:
    return f"{HOME}/memories/{memory_id}"


# What the page shows


def _shown(visit: Visit, dossier: Dossier) -> dict[str, Any]:
    memory = dossier.memory
    is_whole = len(memory.content) <= _LONGEST_TEXT or visit.query.get("whole") == "yes"
    versions, left_out = versions_of(_chain(visit, memory))
    return {
        "dossier": dossier,
        "memory": memory,
        "text": memory.content if is_whole else memory.content[:_LONGEST_TEXT],
        "is_whole": is_whole,
        "lines": _lines(dossier),
        "versions": versions,
        "versions_left_out": left_out,
        "recalls": visit.core.recall_history.of(visit.principal, memory.id),
        "recalls_kept": visit.core.recall_history.keep,
        "kinds": {kind: say(rules.one).capitalize() for kind, rules in KINDS.items()},
        "states": STATES,
        "event_words": EVENTS,
        "governor": RULES[memory.governed_by],
        "may_happen": what_may_happen(memory, dossier),
        "heading_path": memory.meta_texts("heading_path") or (),
        "confirmation": say(CONFIRMATION),
    }


def _chain(visit: Visit, memory: Memory) -> tuple[FactVersion, ...]:
    return visit.core.facts.history(visit.principal, memory.id) if memory.kind is Kind.FACT else ()


def _lines(dossier: Dossier) -> list[SourceLine]:
    """What stands around the source, and the source itself where it is not the memory that the page shows anyway."""
    memory, origin = dossier.memory, dossier.origin
    source = [] if origin.source is None else [line_of(origin.source, memory.excerpt)]
    return [*map(line_of, origin.before), *source, *map(line_of, origin.after)]
