"""TODO."""

from starlette.responses import Response

from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import Visit

pages = Pages()


@pages.get("/memories")
def show(visit: Visit) -> Response:
    return visit.page("memories.html", section="memories")
