"""The ASGI application: routers, the rendering of errors, and the boundary around them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp

from memorist.core import Core
from memorist.errors import MemoristError
from memorist.settings import Settings
from memorist.surfaces.dashboard import app as dashboard
from memorist.surfaces.dashboard.routing import SIGN_IN
from memorist.surfaces.dashboard.visits import HOME, Site
from memorist.surfaces.http import (
    about,
    agent_tools,
    audit,
    coding_assistant,
    companion,
    erasure,
    events,
    facts,
    health,
    lifecycle,
    metrics,
    native,
    native_bulk,
    pages,
    policies,
    problems,
    profiles,
    tokens,
    turns,
)
from memorist.surfaces.http.boundary import Boundary
from memorist.surfaces.http.mcp import McpEndpoint, host_names
from memorist.surfaces.http.openapi import openapi
from memorist.surfaces.http.routes import OwnPaths
from memorist.version import __version__

_SENT_BY_BROWSERS = [
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "Last-Event-ID",
    "X-Memorist-Affinity",
    "X-Memorist-Agent",
    "X-Memorist-Session",
    "X-Memorist-User",
]


def create_app(core: Core, settings: Settings, origins: Mapping[str, str] | None = None) -> ASGIApp:
    """The application over a core, which it closes when the server stops."""
    api = create_api(core, host_names(settings.allowed_hosts))
    api.router.routes.extend(dashboard.routes(Site(core, settings, problems.status_of, origins or {})))
    boundary = Boundary(api, core, settings, dashboard=HOME, sign_in=SIGN_IN)
    return _for_browsers(boundary, settings.allowed_origins)


def _for_browsers(app: ASGIApp, origins: str) -> ASGIApp:
    """The application, which pages of these origins may call with a key: never with the cookie of the dashboard."""
    allowed = [part.strip() for part in origins.split(",") if part.strip()]
    if not allowed:
        return app
    return CORSMiddleware(
        app,
        allow_origins=allowed,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=_SENT_BY_BROWSERS,
        expose_headers=["ETag", "Idempotency-Replayed", "Location", "Retry-After", "X-Memorist-Affinity"],
    )


def create_api(core: Core, allowed_hosts: frozenset[str] = frozenset()) -> FastAPI:
    """The routes that the OpenAPI document describes, and MCP."""
    mcp = McpEndpoint(core, allowed_hosts)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with mcp.running():
            yield
        core.close()

    api = FastAPI(
        title="Memorist",
        version=__version__,
        description="Long-term memory for AI agents.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # An address with one slash more is none of the documents'.
        lifespan=lifespan,
    )
    api.state.core = core
    api.openapi = lambda: openapi(api)  # type: ignore[method-assign]
    # Added flat: an included router is matched twice, which every request would pay for.
    published = (
        *profiles.routers,
        agent_tools.router,
        companion.router,
        turns.router,
        coding_assistant.router,
        lifecycle.router,
    )
    doors = (*published, events.router)
    own = (
        facts.router,
        about.router,
        native_bulk.whoami,
        native_bulk.router,
        native.router,
        native.direct,
        policies.router,
        audit.router,
        tokens.router,
    )
    for router in (*doors, *own, erasure.router, health.router, metrics.router, pages.router):
        api.router.routes.extend(router.routes)
    api.router.routes.append(Route("/mcp", mcp, methods=["POST"], include_in_schema=False))
    api.router.routes.insert(0, OwnPaths(api.router.routes))
    api.add_exception_handler(MemoristError, problems.on_memorist_error)
    api.add_exception_handler(HTTPException, problems.on_http_error)
    api.add_exception_handler(RequestValidationError, problems.on_validation_error)
    api.add_exception_handler(Exception, problems.on_unexpected_error)
    return api
