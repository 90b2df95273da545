"""Signing in by an API key or by a link that works once, and signing out. The only pages that anybody may see."""

import re
from collections.abc import Callable
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from memorist.errors import MemoristError, Unauthenticated
from memorist.platform import access, validation
from memorist.secrets import redact
from memorist.surfaces.dashboard import rendering
from memorist.surfaces.dashboard.routing import SIGN_IN, Pages, cookie_name, plain_error, session_cookie
from memorist.surfaces.dashboard.visits import (
    EVERYBODY,
    HOME,
    THEMES,
    Site,
    Visit,
    parse_form,
    set_language,
    set_theme,
    set_whose,
    theme_of,
)
from memorist.surfaces.dashboard.wording import LANGUAGES, say, to_say

_MOST_BYTES = 4096
_WRONG_KEY = to_say(
    "This API key is not known here, was revoked, or has expired. Check that you copied all of it: a key begins with "
    "mst_live_."
)
# Pages that everybody has, and what of their addresses is of one person.
_OF_ALL = re.compile(rf"{HOME}(/\w+|/activity/\w+|/memories/new|/recall/compare)?")
_THEIRS = frozenset({"cursor", "id", "name", "new", "person", "session", "stored", "why_not"})

pages = Pages()


def routes(site: Site) -> list[Route]:
    async def show(request: Request) -> Response:
        return await run_in_threadpool(_show, site, request)

    async def submit(request: Request) -> Response:
        if _comes_from_elsewhere(site, request):
            return _form(request, say("Sign in on this page, not through another."), 403)
        body = await _short_body(request)
        if body is None:
            return _form(request, say(_WRONG_KEY), 401)
        return await run_in_threadpool(_guarded, site, request, lambda: _submit(site, request, body))

    async def enter(request: Request) -> Response:
        return await run_in_threadpool(_guarded, site, request, lambda: _enter(site, request))

    async def choose_language(request: Request) -> Response:
        body = await _short_body(request) or b""
        return await run_in_threadpool(_guarded, site, request, lambda: _choose_language(parse_form(body)))

    return [
        Route(f"{HOME}/language", choose_language, methods=["POST"], include_in_schema=False),
        Route(SIGN_IN, show, methods=["GET"], include_in_schema=False),
        Route(SIGN_IN, submit, methods=["POST"], include_in_schema=False),
        Route(f"{HOME}/enter", enter, methods=["GET"], include_in_schema=False),
        *pages.routes(site),
    ]


def _guarded(site: Site, request: Request, work: Callable[[], Response]) -> Response:
    try:
        return work()
    except Unauthenticated as error:
        return _form(request, say(error.message), 401)
    except MemoristError as error:
        return plain_error(site, request, error)


def _show(site: Site, request: Request) -> Response:
    return _home(site, request) or _form(request, None, 200)


def _home(site: Site, request: Request) -> Response | None:
    """The way on for who is signed in; None for others."""
    try:
        site.core.sign_ins.find(request.cookies.get(cookie_name(request), ""))
    except MemoristError:
        return None
    response = RedirectResponse(_wanted(request), 303)
    rendering.protect(response)
    return response


def _submit(site: Site, request: Request, body: bytes) -> Response:
    form = parse_form(body)
    key = form.get("key", "")
    try:
        token = site.core.sign_ins.sign_in(str(key).strip())
    except Unauthenticated:
        # What the error says is for programs, which send their key in a header.
        return _form(request, say(_WRONG_KEY), 401)
    return _signed_in(site, request, token)


def _enter(site: Site, request: Request) -> Response:
    if _comes_from_elsewhere(site, request):
        said = say("Another page led here. Paste the link into the address bar if it is yours.")
        return _form(request, said, 403)
    try:
        token = site.core.sign_ins.enter(request.query_params.get("link", ""))
    except Unauthenticated:
        # A link that is opened a second time, where the first one worked.
        if (home := _home(site, request)) is not None:
            return home
        raise
    return _signed_in(site, request, token)


async def _short_body(request: Request) -> bytes | None:
    """The body, or None where it is longer than any form with a key."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            return None
    return body


def _comes_from_elsewhere(site: Site, request: Request) -> bool:
    """Somebody else's page must not sign a visitor in to its own account.

    Newer browsers tell it by one header, all of them by the other; what is no browser sends neither.
    """
    told = request.headers.get("sec-fetch-site")
    if told not in (None, "same-origin", "none"):
        return True
    origin = request.headers.get("origin")
    if origin is None or (origin == "null" and told is not None):
        return False
    name = urlsplit(origin).netloc.lower()
    names = (part.strip().lower() for part in site.settings.allowed_hosts.split(","))
    # A proxy may have called the server by another name than the browser did.
    return name != request.headers.get("host", "").lower() and (not name or name.partition(":")[0] not in names)


def _signed_in(site: Site, request: Request, token: str) -> Response:
    response = RedirectResponse(_wanted(request), 303)
    session_cookie(request, response, token, site.core.sign_ins.find(token)[1])
    # The last one's choice is not that of who signs in now.
    set_whose(request, response, "")
    rendering.protect(response)
    return response


def _form(request: Request, message: str | None, status: int) -> Response:
    shown = None if message is None else redact(message).text
    page = _wanted(request)
    here = SIGN_IN if page == HOME else f"{SIGN_IN}?{urlencode({'back': page})}"
    context = {"message": shown, "theme": theme_of(request), "here": here}
    response = HTMLResponse(rendering.render("sign_in.html", context), status)
    rendering.protect(response)
    return response


def _wanted(request: Request) -> str:
    """The page that somebody wanted who was led to sign in."""
    return _own_page(request.query_params.get("back", HOME))


@pages.post("/sign-out")
def sign_out(visit: Visit) -> Response:
    visit.core.sign_ins.end(visit.session_token)
    response = visit.redirect(SIGN_IN)
    response.delete_cookie(cookie_name(visit.request), path=HOME)
    return response


@pages.post("/theme")
def change_theme(visit: Visit) -> Response:
    theme = visit.text("theme")
    response = visit.redirect(_back(visit))
    set_theme(response, theme if theme in THEMES else "auto")
    return response


def _choose_language(form: FormData) -> Response:
    """Whoever reads chooses, signed in or not: nothing but the words depends on it."""
    chosen = str(form.get("language", ""))
    response = RedirectResponse(_own_page(str(form.get("back", HOME))), 303)
    set_language(response, chosen if chosen in LANGUAGES else "")
    rendering.protect(response)
    return response


@pages.post("/whose")
def choose_whose(visit: Visit) -> Response:
    """Whose memories an admin looks at from now on."""
    access.require(visit.principal, access.Action.ADMINISTER)
    whose = visit.text("whose")
    if whose not in ("", EVERYBODY):
        validation.identifier("user", whose)
    if agent := visit.text("agent"):
        validation.identifier("agent", agent)
    response = visit.redirect(_without_what_is_theirs(_back(visit)))
    set_whose(visit.request, response, whose, agent)
    return response


def _back(visit: Visit) -> str:
    return _own_page(visit.text("back", HOME))


def _without_what_is_theirs(page: str) -> str:
    """The page, or the list above one of a thing that the next person may not have."""
    path, _, asked = page.partition("?")
    if not _OF_ALL.fullmatch(path):
        return "/".join(path.split("/")[:3])
    kept = urlencode([(name, value) for name, value in parse_qsl(asked) if name not in _THEIRS])
    return f"{path}?{kept}" if kept else path


def _own_page(back: str) -> str:
    """The page that a form was on; never another site."""
    if not back.startswith((f"{HOME}/", f"{HOME}?")) or "//" in back or "\\" in back:
        return HOME
    return quote(back, safe="/?&=%:+")
