"""Pages for people, in the look of the dashboard: the API reference, an operation to try, and the errors."""

import re
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from memorist.errors import NotFound, all_errors
from memorist.surfaces.dashboard import rendering
from memorist.surfaces.http.examples import examples
from memorist.surfaces.http.operations import Operation, group_of, operations
from memorist.surfaces.http.problems import ERRORS_PAGE, status_of

router = APIRouter(include_in_schema=False)

_SERVER = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+")


@router.get("/")
def start_page() -> Response:
    return RedirectResponse("/dashboard", 303)


@router.get("/docs")
def api_page(request: Request) -> Response:
    return _page(request, "docs.html", server=_server(request))


@router.get(ERRORS_PAGE)
def errors_page(request: Request) -> Response:
    return _page(
        request, "docs_errors.html", errors=[(kind.code, status_of(kind()), kind().message) for kind in all_errors()]
    )


@router.get("/docs/{slug}")
def operation_page(request: Request, slug: str) -> Response:
    """One operation. Raises NotFound."""
    for operation in (one for group in _operations(request).values() for one in group):
        if operation.slug == slug:
            server = _server(request)
            calls = examples(operation, server)
            return _page(request, "docs_operation.html", server=server, operation=operation, examples=calls)
    raise NotFound("There is no such page. /docs has them all.")


def _operations(request: Request) -> dict[str, list[Operation]]:
    """Made once: the document does not change while the server runs."""
    state = request.app.state
    if not hasattr(state, "operations"):
        state.operations = operations(request.app.openapi())
    found: dict[str, list[Operation]] = state.operations
    return found


def _server(request: Request) -> str:
    """The address by which the reader came; a script corrects it where a proxy is in between."""
    found = _SERVER.fullmatch(str(request.base_url).rstrip("/"))
    return found[0] if found else "http://127.0.0.1:8377"


def _page(request: Request, template: str, **context: Any) -> Response:
    groups = [(tag, group_of(tag), members) for tag, members in _operations(request).items()]
    html = rendering.render(template, {"theme": "auto", "groups": groups, "operation": None, **context})
    response = HTMLResponse(html)
    rendering.protect(response)
    return response
