"""All routes of the dashboard, mounted by the server."""

from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memorist.errors import NotFound
from memorist.surfaces.dashboard import rendering, signing_in
from memorist.surfaces.dashboard.pages import (
    about,
    access,
    activity,
    activity_jobs,
    activity_retention,
    activity_usage,
    audit,
    chat,
    connect,
    conversations,
    documents,
    doubts,
    home,
    memories,
    memory,
    memory_edit,
    memory_rewrite,
    palette,
    people,
    privacy,
    recall,
    recall_compare,
    saved_filters,
    system,
    transfer,
    turns,
    whose,
)
from memorist.surfaces.dashboard.routing import no_page, plain_error
from memorist.surfaces.dashboard.visits import HOME, Site, language_of
from memorist.surfaces.dashboard.wording import say, speaking

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOR_GOOD = "public, max-age=31536000, immutable"


def routes(site: Site) -> list[Route]:
    own = (home, connect, about, people, saved_filters, memories, memory, memory_edit, memory_rewrite, recall, turns)
    activities = (activity, activity_usage, activity_jobs, activity_retention)
    read = (recall_compare, chat, conversations, documents, transfer, *activities)
    pages = (*own, *read, doubts, privacy, palette, whose, access, audit, system)
    spoken = [
        *signing_in.routes(site),
        *(route for module in pages for route in module.pages.routes(site)),
        _nowhere(site),
    ]
    for route in spoken:
        route.app = _speaking(route.app)
    return [_static(site), *spoken]


def _speaking(app: ASGIApp) -> ASGIApp:
    """The same in the reader's language: around all of an answer, so that streams speak it too."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        with speaking(language_of(Request(scope))):
            await app(scope, receive, send)

    return call


def _static(site: Site) -> Route:
    files = {name: (content, _TYPES[Path(name).suffix]) for name, content in rendering.static_files().items()}

    async def serve(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            return plain_error(site, request, NotFound(say("There is no such file.")))
        content, kind = files[name]
        headers = {"Cache-Control": _FOR_GOOD, "Content-Security-Policy": rendering.SECURITY_POLICY}
        return Response(content, media_type=kind, headers=headers)

    return Route(f"{HOME}/static/{{name:path}}", serve, methods=["GET"], include_in_schema=False)


def _nowhere(site: Site) -> Route:
    async def refuse(request: Request) -> Response:
        if request.path_params["rest"] == "":
            return RedirectResponse(HOME, 303)
        return await run_in_threadpool(no_page, site, request)

    return Route(f"{HOME}/{{rest:path}}", refuse, methods=["GET", "POST"], include_in_schema=False)
