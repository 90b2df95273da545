"""Writing an entry of the companion anew: its entries are never changed, so the old one is erased."""

from collections.abc import Mapping

from starlette.responses import Response

from memorist.context.companion import Category
from memorist.errors import InvalidField, NotFound
from memorist.memories.governance import TESTED
from memorist.memories.values import Memory
from memorist.platform import access, validation
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.wording import say

pages = Pages()


@pages.get("/memories/{id}/rewrite")
def show(visit: Visit) -> Response:
    memory = _entry(visit)
    return _form(visit, memory, {"text": memory.content, "category": memory.category or ""})


@pages.post("/memories/{id}/rewrite")
def save(visit: Visit) -> Response:
    memory = _entry(visit)
    typed = {name: visit.text(name) for name in ("text", "category")}
    try:
        category = validation.choice("category", typed["category"], Category)
        written = visit.core.companion.rewrite(visit.principal, memory.id, typed["text"], category)
    except InvalidField as error:
        return _form(visit, memory, typed, error)
    toast = Toast(say("Written anew. The old entry is erased."))
    return visit.redirect(f"{HOME}/memories/{written.memory.id}", toast=toast)


def _entry(visit: Visit) -> Memory:
    """Raises NotFound or Forbidden."""
    access.require(visit.principal, access.Action.WRITE)
    memory = visit.core.companion.get(visit.principal, visit.path("id"))
    if memory.category == TESTED:
        raise NotFound(say("What was tested is recorded as it came out. Erase it, and record the finding again."))
    return memory


def _form(visit: Visit, memory: Memory, values: Mapping[str, str], error: InvalidField | None = None) -> Response:
    return visit.page(
        "memory_rewrite.html",
        section="memories",
        status=200 if error is None else visit.site.status_of(error),
        memory=memory,
        values=values,
        categories=[str(category) for category in Category],
        error=error,
    )
