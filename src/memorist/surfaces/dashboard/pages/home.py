"""Home: what is known of the person, what changed and what to decide, what was recalled and said, and how it grows."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.responses import Response

from memorist.about.values import PersonProfile
from memorist.errors import Forbidden, InvalidField, MemoristError
from memorist.memories.kinds import KINDS
from memorist.memories.policy import Mode
from memorist.memories.values import Draft, Memory, Status
from memorist.platform.values import JobStatus
from memorist.surfaces.dashboard.pages import doubts
from memorist.surfaces.dashboard.pages.charts import RECALL_DAYS, agents_used, draw_growth, draw_recalls
from memorist.surfaces.dashboard.pages.connect import can_remember, setting_up
from memorist.surfaces.dashboard.pages.recall import NO_ROOM
from memorist.surfaces.dashboard.refusals import in_words
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.wording import day, number, say, to_say
from memorist.views.overview import MOST, Waiting

pages = Pages()

# As the page of memories calls them.
_RESTING = {"archived": (Status.ARCHIVED,), "deleted": (Status.SOFT_DELETED, Status.HARD_DELETE_PENDING)}
_MOVES = {
    "archived": to_say("archived"),
    "deleted": to_say("deleted"),
    "purged": to_say("erased"),
    "anonymized": to_say("made anonymous"),
}
_CHANGES = {
    "created": to_say("Learned"),
    "updated": to_say("Edited"),
    "archived": to_say("Archived"),
    "superseded": to_say("Replaced"),
    "deleted": to_say("Deleted"),
    "restored": to_say("Restored"),
}
# Of a profile: lines of a topic, and how many of the newest facts it is made of.
_LINES, _FACTS, _READ_NOW = 3, 400, 5
_CHANGES_SHOWN, _DOUBTS_SHOWN, _RECALLS_SHOWN = 6, 3, 6


@dataclass(frozen=True, slots=True)
class Sign:
    """One line of the state of health, or of what waits: a tone, and where to go."""

    tone: str
    title: str
    text: str
    address: str = ""


@pages.get("")
def show(visit: Visit) -> Response:
    return _page(visit)


@pages.post("/home/remember")
def remember(visit: Visit) -> Response:
    """Store a fact of the user that is looked at or, where that is everybody, one that everybody shares."""
    text = visit.text("content")
    try:
        stored = visit.core.facts.remember_all(visit.principal, [Draft(text)])[0]
    except InvalidField as error:
        return _page(visit, status=visit.site.status_of(error), written=text, invalid=in_words(error))
    return visit.redirect(f"{HOME}?stored={stored.memory.id}&new={int(stored.was_new)}#remember")


@pages.post("/home/undo")
def undo(visit: Visit) -> Response:
    """Take back the last change of a fact: what was learned is deleted, what was put away comes back."""
    memory_id = visit.text("id")
    retention = visit.core.retention
    if visit.text("what") == "created":
        retention.delete(visit.principal, memory_id)
        return visit.redirect(HOME, toast=Toast(say("Forgotten. It can be restored for a while.")))
    retention.restore(visit.principal, memory_id)
    return visit.redirect(HOME, toast=Toast(say("It is back, and is recalled again.")))


def _page(visit: Visit, *, status: int = 200, **context: Any) -> Response:
    stored = _stored(visit)
    totals = visit.core.overview.totals(visit.principal, fresh=stored is not None)
    waiting = visit.core.overview.waiting(visit.principal)
    return visit.page(
        "home.html",
        status=status,
        section="home",
        totals=totals,
        kinds=[(kind, say(rules.many).capitalize(), totals.active_of(kind)) for kind, rules in KINDS.items()],
        resting=[(name, sum(map(totals.of_status, states))) for name, states in _RESTING.items()],
        active=totals.of_status(Status.ACTIVE),
        health=_health(visit, waiting),
        waits=_waits(waiting),
        stored=stored,
        stored_is_new=visit.query.get("new") == "1",
        **({"can_remember": can_remember(visit)} | _lately(visit, waiting) if totals.memories else setting_up(visit)),
        **({"written": "", "invalid": None} | context),
    )


def _lately(visit: Visit, waiting: Waiting) -> dict[str, Any]:
    """What is known, and what happened: only once there is something."""
    core, principal = visit.core, visit.principal
    now = core.clock.now()
    today = now.astimezone(UTC).date()
    asked = core.recall_history.usage(principal, _midnight(now) - timedelta(days=RECALL_DAYS - 1))
    return {
        "profiles": _profiles(visit),
        "changes": core.latest.changes(principal, limit=_CHANGES_SHOWN),
        "change_words": _CHANGES,
        "doubted": doubts.first_open(visit, _DOUBTS_SHOWN) if waiting.doubts else [],
        "doubts_in_all": up_to(waiting.doubts),
        "recalls": core.recall_history.lately(principal, now, limit=_RECALLS_SHOWN),
        "talks": core.latest.talks(principal),
        "growth": draw_growth(core.overview.growth(principal, fresh="stored" in visit.query), today),
        "asked": draw_recalls(asked, today),
        "agents": agents_used(asked),
    }


def _profiles(visit: Visit) -> tuple[PersonProfile, ...]:
    try:
        return visit.core.profiles.people(
            visit.principal, limit=_LINES, most=_FACTS, most_read=_READ_NOW, rest_later=True
        )
    except Forbidden:  # Who acts for nobody has no profile.
        return ()


def _midnight(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _stored(visit: Visit) -> Memory | None:
    """What was just stored, where the address says so and it is still there."""
    memory_id = visit.query.get("stored", "")
    try:
        return visit.core.memories.get(visit.principal, memory_id) if memory_id else None
    except MemoristError:
        return None


# How it is, and what waits


def _health(visit: Visit, waiting: Waiting) -> list[Sign]:
    signs = [Sign("good", say("Database"), say("It answers.")), _search(visit), _index(visit, waiting)]
    if waiting.mode is not None:
        signs.append(_sweeper(visit, waiting))
    return signs


def _search(visit: Visit) -> Sign:
    models = {model.part: model for model in visit.core.installation.models()}
    embedder, reranker = models["embedder"], models["reranker"]
    failure = embedder.failure or reranker.failure
    if failure is not None:
        return Sign("bad", say("Models"), failure)
    if embedder.id is None:
        return Sign("", say("Models"), say("Recall goes by keywords: the embedder is off."))
    if embedder.loaded is False:
        return Sign("", say("Models"), say("They are loaded when they are first needed."))
    said = say("Recall goes by meaning and by keywords.")
    return Sign("good", say("Models"), said if reranker.id else f"{said} {say('The reranker is off.')}")


def _index(visit: Visit, waiting: Waiting) -> Sign:
    if visit.core.embedder is None:
        return Sign("good", say("Index"), say("Every memory is found by its words."))
    if not waiting.vectors and visit.core.recall.lacks_memory(visit.principal):
        return Sign("warn", say("Index"), say(NO_ROOM))
    if not waiting.vectors:
        return Sign("good", say("Index"), say("Every memory is found by its meaning."))
    count = up_to(waiting.vectors)
    said = say("{count} of the memories are found by their words only, so far.", count=count)
    return Sign("warn", say("Index"), said)


def _sweeper(visit: Visit, waiting: Waiting) -> Sign:
    if visit.settings.sweep_interval_s == 0:
        return Sign(
            "warn", say("Retention"), say("It is off on this server: nothing is archived or deleted by itself.")
        )
    if waiting.mode is Mode.OBSERVE:
        title = say("Retention is in preview: nothing is deleted yet.")
        if waiting.acts_from is not None:
            title = say("Retention is in preview until {day}: nothing is deleted yet.", day=day(waiting.acts_from))
        return Sign("", title, say("Turn it on"), f"{HOME}/privacy#policy")
    return Sign("good", say("Retention"), say("It is on."))


def _waits(waiting: Waiting) -> list[Sign]:
    signs = []
    dead, later = waiting.jobs[JobStatus.DEAD], waiting.jobs[JobStatus.WAITING]
    if dead:
        title = _counted(dead, to_say("{count} job failed for good:"), to_say("{count} jobs failed for good:"))
        signs.append(Sign("bad", title, say("retry or drop"), f"{HOME}/activity/jobs#work"))
    if waiting.doubts:
        one, many = to_say("{count} pair of facts is in doubt:"), to_say("{count} pairs of facts are in doubt:")
        signs.append(Sign("warn", _counted(waiting.doubts, one, many), say("which one holds?"), f"{HOME}/doubts"))
    if waiting.due and waiting.mode is Mode.OBSERVE:
        moves = ", ".join(f"{number(count)} {say(_MOVES.get(move, move))}" for move, count in waiting.due.items())
        title = _counted(
            sum(waiting.due.values()),
            to_say("{count} memory is due, and stays until you turn retention on:"),
            to_say("{count} memories are due, and stay until you turn retention on:"),
        )
        signs.append(Sign("", title, moves, f"{HOME}/privacy#report"))
    if waiting.vectors:
        one, many = to_say("{count} memory waits for vectors:"), to_say("{count} memories wait for vectors:")
        title = _counted(waiting.vectors, one, many)
        signs.append(Sign("", title, say("how far the index is"), f"{HOME}/activity/jobs"))
    if later:
        title = _counted(later, to_say("{count} job waits"), to_say("{count} jobs wait"))
        signs.append(Sign("", title, say("in the queue"), f"{HOME}/activity/jobs#work"))
    return signs


def _counted(count: int, one: str, many: str) -> str:
    return say(one if count == 1 else many, count=up_to(count))


def up_to(count: int) -> str:
    """A count as it is shown: above the bound it was not counted on."""
    return number(count) if count <= MOST else f"{number(MOST)}+"
