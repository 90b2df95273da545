"""TODO."""

from starlette.responses import Response

from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import Visit

pages = Pages()


@pages.get("/turns")
def show(visit: Visit) -> Response:
    return visit.page("turns.html", section="turns")
