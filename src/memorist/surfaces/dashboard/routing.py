"""How a page is reached: the session, the CSRF token and the rendering of errors, once for all of them."""

import hmac
import tempfile
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from memorist.errors import Conflict, Forbidden, MemoristError, NotFound, PayloadTooLarge, Unauthenticated
from memorist.models.fair_share import WHOSE
from memorist.platform import access, acts
from memorist.platform.values import SignIn
from memorist.secrets import redact
from memorist.secrets.logs import redacting_logger
from memorist.surfaces.dashboard import rendering
from memorist.surfaces.dashboard.refusals import in_words
from memorist.surfaces.dashboard.visits import HOME, Site, Visit, as_chosen, of_this_server, parse_form, theme_of
from memorist.surfaces.dashboard.wording import say, to_say

_log = redacting_logger("memorist.dashboard")

Handler = Callable[[Visit], Response]

SIGN_IN = f"{HOME}/sign-in"
_FILE = "application/octet-stream"
_LONGEST_BACK = 2000
_FOR_SOMEBODY_ELSE = to_say(
    "Nothing was done: in another window you chose to act for somebody else than this page was for. Choose as before "
    "there, go back here, and send it once more."
)
_TOO_LARGE = to_say(
    "This is more than the server takes in one form, and nothing was stored. Shorten it, or send it as a file under "
    "Documents."
)


class Pages:
    """Collects the routes of a page: `@pages.get("/memories")`, `@pages.post("/memories/new")`.

    Handlers are ordinary functions; they run on a thread. What they raise of our error tree is shown in words.
    """

    def __init__(self) -> None:
        self._routes: list[tuple[str, str, Handler]] = []

    def get(self, path: str) -> Callable[[Handler], Handler]:
        return self._collect("GET", path)

    def post(self, path: str) -> Callable[[Handler], Handler]:
        """A posted form must carry the session's CSRF token."""
        return self._collect("POST", path)

    def _collect(self, method: str, path: str) -> Callable[[Handler], Handler]:
        def keep(handler: Handler) -> Handler:
            self._routes.append((method, path, handler))
            return handler

        return keep

    def routes(self, site: Site) -> list[Route]:
        return [
            Route(f"{HOME}{path}", _endpoint(site, handler), methods=[method], include_in_schema=False)
            for method, path, handler in self._routes
        ]


def cookie_name(request: Request) -> str:
    return of_this_server(request, "memorist_session")


def _endpoint(site: Site, handler: Handler) -> Callable[[Request], Any]:
    async def call(request: Request) -> Response:
        visit = await run_in_threadpool(_admitted, site, request)
        if isinstance(visit, Response):
            return visit
        request.state.known = visit.principal
        try:
            await request.state.share.enter(visit.principal)
        except MemoristError as error:
            return await run_in_threadpool(_explain, visit, error)
        # What somebody sends who is not signed in is not even read.
        if request.method == "POST" and request.headers.get("content-type") == _FILE:
            return await _with_file(handler, visit)
        try:
            body = await request.body() if request.method == "POST" else b""
        except HTTPException:  # The boundary's, of what is larger than a form may be.
            return await run_in_threadpool(_explain, visit, PayloadTooLarge(say(_TOO_LARGE)))
        return await run_in_threadpool(_answer, handler, visit, body)

    return call


async def _with_file(handler: Handler, visit: Visit) -> Response:
    """Gather a file on disk as it comes, of who may send one; whoever goes away before its end leaves nothing."""
    try:
        _check_csrf(visit)
        access.require(visit.principal, access.Action.WRITE)
    except MemoristError as error:
        return await run_in_threadpool(_explain, visit, error)
    with tempfile.TemporaryFile() as file:
        try:
            async for piece in visit.request.stream():
                file.write(piece)
        except ClientDisconnect:
            return Response(status_code=400)
        file.seek(0)
        visit.file = file
        return await run_in_threadpool(_answer, handler, visit, b"")


def _admitted(site: Site, request: Request) -> Visit | Response:
    """The visit of who is signed in, or what is answered instead."""
    try:
        return _visit(site, request, request.cookies.get(cookie_name(request), ""))
    except Unauthenticated:
        return _to_sign_in(request)
    except MemoristError as error:
        return plain_error(site, request, error)


def _answer(handler: Handler, visit: Visit, body: bytes) -> Response:
    WHOSE.set((visit.principal.tenant, visit.principal.user or ""))
    try:
        if visit.request.method == "POST":
            visit.form = parse_form(body)
            _check_csrf(visit)
        return handler(visit)
    except MemoristError as error:
        return _explain(visit, error)
    except Exception:  # noqa: BLE001 - The top of a page.
        _log.exception("a page failed", extra={"fields": {"request_id": visit.request.state.request_id}})
        return _explain(visit, MemoristError())


def _visit(site: Site, request: Request, token: str) -> Visit:
    """The visit of who is signed in. Raises Unauthenticated or StoreError."""
    began = time.perf_counter()
    principal, session = site.core.sign_ins.find(token)
    principal, whose = as_chosen(request, principal)
    return Visit(site, request, acts.by(principal), session, token, whose, began=began)


def _check_csrf(visit: Visit) -> None:
    """Raises Forbidden of a form from elsewhere, and Conflict of one that was shown for somebody else."""
    given = visit.request.headers.get("x-csrf-token") or visit.text("csrf")
    token, _, shown_for = given.partition(":")
    if not hmac.compare_digest(token.encode(), visit.csrf.encode()):
        raise Forbidden(say("This form did not come from this page, or it is too old. Load the page again."))
    if shown_for not in ("", visit.acts_for):
        raise Conflict(say(_FOR_SOMEBODY_ELSE))


def _to_sign_in(request: Request) -> Response:
    """To the page that signs in, which leads on to the one that was asked for; what was posted is not sent again."""
    if request.headers.get("hx-request") == "true":
        shown = urlsplit(request.headers.get("hx-current-url", ""))
        response = Response(status_code=401, headers={"HX-Redirect": _sign_in_for(shown.path, shown.query)})
    elif request.method == "GET":
        response = RedirectResponse(_sign_in_for(request.url.path, request.url.query), 303)
    else:
        response = RedirectResponse(SIGN_IN, 303)
    rendering.protect(response)
    return response


def _sign_in_for(path: str, query: str) -> str:
    page = f"{path}?{query}" if query else path
    return SIGN_IN if page in ("", HOME) or len(page) > _LONGEST_BACK else f"{SIGN_IN}?{urlencode({'back': page})}"


def _explain(visit: Visit, error: MemoristError) -> Response:
    """What went wrong: as a toast where htmx asked, which leaves the page as it is; as a page otherwise."""
    acts.failed(error)
    status = visit.site.status_of(error)
    if status >= 500:
        fields = {"request_id": visit.request.state.request_id, "code": error.code, "detail": error.message}
        _log.error("a page failed", extra={"fields": fields})
    message = redact(in_words(error)).text
    if visit.is_partial:
        headers = {"HX-Reswap": "none", "HX-Trigger": "refused"}
        # htmx swaps what answers 200 only, also what is beside the target.
        return visit.part("parts/error_toast.html", message=message, code=error.code, headers=headers)
    return visit.page("error.html", status=status, message=message, code=error.code, section="")


def no_page(site: Site, request: Request) -> Response:
    """What is said at an address that has no page; who is signed in keeps the menu."""
    error = NotFound(say("There is no such page."))
    try:
        visit = _visit(site, request, request.cookies.get(cookie_name(request), ""))
    except MemoristError:
        return plain_error(site, request, error)
    return _explain(visit, error)


def plain_error(site: Site, request: Request, error: MemoristError) -> Response:
    """An error for somebody who is not signed in."""
    acts.failed(error)
    context = {"message": redact(in_words(error)).text, "code": error.code, "theme": theme_of(request)}
    response = HTMLResponse(rendering.render("plain_error.html", context), site.status_of(error))
    rendering.protect(response)
    return response


def session_cookie(request: Request, response: Response, token: str, session: SignIn) -> None:
    response.set_cookie(
        cookie_name(request),
        token,
        expires=session.expires_at,
        path=HOME,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
