"""Home: how it is, what is remembered and how that grows, what waits, and how an agent gets its memory."""

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from memorist.errors import InvalidField, MemoristError
from memorist.memories.kinds import KINDS
from memorist.memories.policy import Mode
from memorist.memories.values import Draft, Memory, Status
from memorist.platform.values import JobStatus, Role
from memorist.surfaces.dashboard.pages.growth import draw
from memorist.surfaces.dashboard.pages.snippets import PLACEHOLDER, snippets
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.views.overview import MOST, Waiting

pages = Pages()

# As the page of memories calls them.
_RESTING = {"archived": (Status.ARCHIVED,), "deleted": (Status.SOFT_DELETED, Status.HARD_DELETE_PENDING)}
_MOVES = {"archived": "archived", "deleted": "deleted", "purged": "erased", "anonymized": "made anonymous"}
_KEY_LABEL = "made on the dashboard"


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
        return _page(visit, status=visit.site.status_of(error), written=text, invalid=error.message)
    return visit.redirect(f"{HOME}?stored={stored.memory.id}&new={int(stored.was_new)}#remember")


@pages.post("/home/key")
def make_key(visit: Visit) -> Response:
    """A key for the snippets. It is in this answer and nowhere else."""
    user = visit.principal.user or visit.text("user")
    if not user:
        raise InvalidField("Name the user that the key is for.", field="user")
    key, secret = visit.core.identity.create_key(visit.principal, Role.USER, user=user, label=_KEY_LABEL)
    if visit.is_partial:
        response = visit.part("parts/home_snippets.html", **_snippets(visit, secret), made=key)
    else:
        response = _page(visit, made=key, secret=secret)
    response.headers["Cache-Control"] = "no-store"
    return response


@pages.post("/samples")
def add_samples(visit: Visit) -> Response:
    count = visit.core.sample_data.add(visit.principal)
    toast = Toast(f"{count} sample memories are here. Look around; one button erases them again.")
    return visit.redirect(HOME, toast=toast)


@pages.post("/samples/remove")
def remove_samples(visit: Visit) -> Response:
    receipt = visit.core.sample_data.remove(visit.principal)
    gone = receipt.counts.get("memories", 0)
    return visit.redirect(f"{HOME}?receipt={receipt.id}#samples", toast=Toast(f"{gone} sample memories are erased."))


def _page(visit: Visit, *, status: int = 200, secret: str | None = None, **context: Any) -> Response:
    stored = _stored(visit)
    totals = visit.core.overview.totals(visit.principal, fresh=stored is not None or "receipt" in visit.query)
    waiting = visit.core.overview.waiting(visit.principal)
    return visit.page(
        "home.html",
        status=status,
        section="home",
        totals=totals,
        growth=draw(totals.days),
        kinds=[(kind, rules.many.capitalize(), totals.active_of(kind)) for kind, rules in KINDS.items()],
        resting=[(name, sum(map(totals.of_status, states))) for name, states in _RESTING.items()],
        active=totals.of_status(Status.ACTIVE),
        health=_health(visit, waiting),
        waits=_waits(visit, waiting),
        can_remember=visit.may_write and (visit.principal.user is not None or visit.is_admin),
        stored=stored,
        stored_is_new=visit.query.get("new") == "1",
        samples=visit.core.sample_data.count(visit.principal),
        receipt=_receipt(visit),
        **({"written": "", "invalid": None, "made": None} | _snippets(visit, secret) | context),
    )


def _snippets(visit: Visit, secret: str | None) -> dict[str, Any]:
    return {"snippets": snippets(visit.address, secret or PLACEHOLDER), "secret": secret}


def _stored(visit: Visit) -> Memory | None:
    """What was just stored, where the address says so and it is still there."""
    memory_id = visit.query.get("stored", "")
    try:
        return visit.core.memories.get(visit.principal, memory_id) if memory_id else None
    except MemoristError:
        return None


def _receipt(visit: Visit) -> Any:
    receipt_id = visit.query.get("receipt", "")
    try:
        return visit.core.erasure.get(visit.principal, receipt_id) if receipt_id else None
    except MemoristError:
        return None


# How it is, and what waits


def _health(visit: Visit, waiting: Waiting) -> list[Sign]:
    signs = [Sign("good", "Database", "It answers."), _search(visit), _index(visit, waiting)]
    if waiting.mode is not None:
        signs.append(_sweeper(visit, waiting))
    return signs


def _search(visit: Visit) -> Sign:
    models = {model.part: model for model in visit.core.installation.models()}
    embedder, reranker = models["embedder"], models["reranker"]
    failure = embedder.failure or reranker.failure
    if failure is not None:
        return Sign("bad", "Models", failure)
    if embedder.id is None:
        return Sign("", "Models", "Recall goes by keywords: the embedder is off.")
    if embedder.loaded is False:
        return Sign("", "Models", "They are loaded when they are first needed.")
    reranked = "" if reranker.id else " The reranker is off."
    return Sign("good", "Models", f"Recall goes by meaning and by keywords.{reranked}")


def _index(visit: Visit, waiting: Waiting) -> Sign:
    if visit.core.embedder is None:
        return Sign("good", "Index", "Every memory is found by its words.")
    if not waiting.vectors:
        return Sign("good", "Index", "Every memory is found by its meaning.")
    return Sign("warn", "Index", f"{up_to(waiting.vectors)} of the memories are found by their words only, so far.")


def _sweeper(visit: Visit, waiting: Waiting) -> Sign:
    if visit.settings.sweep_interval_s == 0:
        return Sign("warn", "Sweeper", "It is off on this server: nothing ages.")
    if waiting.mode is Mode.OBSERVE:
        until = "" if waiting.acts_from is None else f" until {waiting.acts_from:%-d %b %Y}"
        return Sign("", "Sweeper", f"It observes{until}: it says what it would do, and moves nothing.")
    return Sign("good", "Sweeper", "It enforces the retention policy.")


def _waits(visit: Visit, waiting: Waiting) -> list[Sign]:
    signs = []
    dead, later = waiting.jobs[JobStatus.DEAD], waiting.jobs[JobStatus.WAITING]
    if dead:
        title = _counted(dead, "job", "jobs")
        signs.append(Sign("bad", f"{title} failed for good:", "retry or drop", f"{HOME}/turns#work"))
    if waiting.doubts:
        title = _counted(waiting.doubts, "pair of facts is", "pairs of facts are")
        signs.append(Sign("warn", f"{title} in doubt:", "which one holds?", f"{HOME}/doubts"))
    if waiting.due and waiting.mode is Mode.OBSERVE:
        moves = ", ".join(f"{count:,} {_MOVES.get(move, move)}" for move, count in waiting.due.items())
        title = _counted(sum(waiting.due.values()), "memory is", "memories are")
        signs.append(Sign("", f"{title} due, and stay until you enforce the policy:", moves, f"{HOME}/privacy#report"))
    if waiting.vectors:
        title = _counted(waiting.vectors, "memory waits", "memories wait")
        address = f"{HOME}/system" if visit.is_admin else ""
        signs.append(Sign("", f"{title} for vectors:", "how far the index is", address))
    if later:
        signs.append(Sign("", _counted(later, "job waits", "jobs wait"), "in the queue", f"{HOME}/turns#work"))
    return signs


def _counted(count: int, one: str, many: str) -> str:
    return f"{up_to(count)} {one if count == 1 else many}"


def up_to(count: int) -> str:
    """A count as it is shown: above the bound it was not counted on."""
    return f"{count:,}" if count <= MOST else f"{MOST:,}+"
