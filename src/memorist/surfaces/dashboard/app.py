"""All routes of the dashboard, mounted by the server."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memorist.errors import NotFound
from memorist.surfaces.dashboard import rendering, signing_in
from memorist.surfaces.dashboard.pages import (
    access,
    doubts,
    home,
    memories,
    memory,
    privacy,
    recall,
    system,
    turns,
)
from memorist.surfaces.dashboard.routing import plain_error
from memorist.surfaces.dashboard.visits import HOME, Site

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOR_GOOD = "public, max-age=31536000, immutable"


def routes(site: Site) -> list[Route]:
    pages = (home, memories, memory, recall, turns, doubts, privacy, access, system)
    return [
        _static(site),
        *signing_in.routes(site),
        *(route for module in pages for route in module.pages.routes(site)),
    ]


def _static(site: Site) -> Route:
    files = {
        path.relative_to(rendering.STATIC).as_posix(): (path.read_bytes(), _TYPES[path.suffix])
        for path in rendering.STATIC.rglob("*.*")
    }

    async def serve(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            return plain_error(site, request, NotFound("There is no such file."))
        content, kind = files[name]
        return Response(content, media_type=kind, headers={"Cache-Control": _FOR_GOOD})

    return Route(f"{HOME}/static/{{name:path}}", serve, methods=["GET"], include_in_schema=False)
