"""A visit: one request of somebody who is signed in, and what a page answers with."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import parse_qsl, quote, unquote

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from memorist.core import Core
from memorist.errors import InvalidField, MemoristError
from memorist.platform import access, validation
from memorist.platform.sign_ins import csrf_token
from memorist.platform.values import Principal, SignIn
from memorist.settings import Settings
from memorist.surfaces.dashboard import rendering
from memorist.surfaces.dashboard.wording import say, wanted_language

if TYPE_CHECKING:  # It brings what searches; most pages are shown without.
    from memorist.recall.reading import TimedReading

HOME = "/dashboard"
_FLASH_COOKIE = "memorist_flash"
_THEME_COOKIE = "memorist_theme"
_LANGUAGE_COOKIE = "memorist_language"
_WHOSE_COOKIE = "memorist_whose"
_AGENT_COOKIE = "memorist_agent"
EVERYBODY = "*"
THEMES = ("auto", "light", "dark")
_MOST_FIELDS = 2000
_OF_THE_PAGE = 0.25
"""The share of the time for a recall that is kept for the page which shows it."""
_IDS_IN_A_COOKIE = 50
_LONGEST_IN_A_COOKIE = 3800


@dataclass(frozen=True, slots=True)
class Toast:
    """A short message at the edge of the page; with `undo`, the address that a button posts `ids` to."""

    text: str
    tone: str = "good"
    undo: str | None = None
    ids: tuple[str, ...] = ()
    undo_label: str = ""
    """What the button says, where that is not Undo."""


@dataclass(frozen=True, slots=True)
class Site:
    """What the pages are made over."""

    core: Core
    settings: Settings
    status_of: Callable[[MemoristError], int]
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each setting came from, where that is known."""


@dataclass(slots=True)
class Visit:
    """Handlers get one, and read the request through it. `form` is empty unless something was posted."""

    site: Site
    request: Request
    principal: Principal
    session: SignIn
    session_token: str
    whose: str = ""
    form: FormData = field(default_factory=FormData)
    file: BinaryIO = field(default_factory=BytesIO)
    """What was posted where it is no form but a file, from its beginning."""
    began: float = field(default_factory=time.perf_counter)

    @property
    def core(self) -> Core:
        return self.site.core

    @property
    def settings(self) -> Settings:
        return self.site.settings

    @property
    def csrf(self) -> str:
        """What a form carries that is the same for whomever one acts: which session it is of."""
        return csrf_token(self.session_token)

    @property
    def form_token(self) -> str:
        """What all other forms carry: also whom their page was shown for. The choice is of all windows together, and
        a page that is still open must not write for the one who was chosen in another.
        """
        return f"{self.csrf}:{self.acts_for}"

    @property
    def acts_for(self) -> str:
        return ":".join(quote(one or "", safe="") for one in (self.principal.user, self.principal.agent))

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query_params

    @property
    def is_partial(self) -> bool:
        """Whether htmx asked, and wants a part of a page rather than all of it."""
        return self.request.headers.get("hx-request") == "true" and "hx-boosted" not in self.request.headers

    @property
    def is_admin(self) -> bool:
        return access.allows(self.principal, access.Action.ADMINISTER)

    @property
    def may_write(self) -> bool:
        return access.allows(self.principal, access.Action.WRITE)

    @property
    def address(self) -> str:
        """The address of this server as the browser sees it, without a slash at its end."""
        return str(self.request.base_url).rstrip("/")

    def path(self, name: str) -> str:
        """A part of the address."""
        value: str = self.request.path_params[name]
        return value

    def text(self, name: str, default: str = "") -> str:
        """A field of the form, without blanks around it. Browsers send other ends of lines than all other doors."""
        value = self.form.get(name, default)
        return value.strip().replace("\r\n", "\n") if isinstance(value, str) else default

    def texts(self, name: str) -> tuple[str, ...]:
        """All values of a field that may be there several times, such as ticked boxes."""
        return tuple(value for value in self.form.getlist(name) if isinstance(value, str))

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number of the form or, without a form, of the query. Raises InvalidField."""
        given = self.text(name) if self.form else self.query.get(name, "").strip()
        if not given:
            return default
        try:
            value = int(given)
        except ValueError:
            raise InvalidField.of(name, say("must be a whole number.")) from None
        if not least <= value <= most:
            raise InvalidField.of(name, say("must be between {least} and {most}.", least=least, most=most))
        return value

    # Answers

    def reading(self, what: str) -> "TimedReading":
        """The time of a question, to its answer: somebody waits for the page, and what is done around the recall has
        its part of it. A quarter is for the page itself, which is to be there within what a recall alone may take.
        """
        kept = _OF_THE_PAGE * self.core.options.recall_budget_ms / 1000
        return self.core.recall.begin(what, time.perf_counter() - self.began + kept)

    def later(self, *, reranks: bool) -> str | None:
        """Where htmx finds a part of a page, once the page is shown: where the reranker, which takes
        longest, decides what is in it. None where the page has it. Without scripts `whole` asks for the page with it.
        """
        if self.is_partial or not reranks or "whole" in self.query or self.core.reranker is None:
            return None
        return f"{self.request.url.path}?{self.request.url.query}"

    def is_later(self, part: str) -> bool:
        """Whether a shown page asks for a part of it that came later: nobody went on to another address."""
        return self.request.headers.get("hx-trigger") == part

    def page(self, template: str, /, *, status: int = 200, **context: Any) -> Response:
        """A whole page. Its template extends layout.html, and `section` in it names the entry of the menu."""
        response = HTMLResponse(rendering.render(template, self._context(context)), status)
        rendering.protect(response)
        if self._flash() is not None:
            response.delete_cookie(of_this_server(self.request, _FLASH_COOKIE), path=HOME)
        return response

    def part(
        self,
        template: str,
        /,
        *,
        toast: Toast | None = None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **context: Any,
    ) -> Response:
        """A part of a page, for htmx; a toast travels beside it."""
        html = rendering.render(template, self._context(context))
        if toast is not None:
            html += rendering.render("parts/toast.html", self._context({"toast": toast, "beside": True}))
        response = HTMLResponse(html, status, dict(headers or {}))
        rendering.protect(response)
        return response

    def redirect(self, address: str, *, toast: Toast | None = None) -> Response:
        """Go on to another page, which shows the toast. htmx is told to load the whole page."""
        headers = {"HX-Redirect": address} if self.is_partial else {"Location": address}
        response = Response(status_code=200 if self.is_partial else 303, headers=headers)
        if toast is not None:
            text = _for_a_cookie(toast)
            name = of_this_server(self.request, _FLASH_COOKIE)
            secure = self.request.url.scheme == "https"
            response.set_cookie(name, text, max_age=60, path=HOME, httponly=True, samesite="lax", secure=secure)
        rendering.protect(response)
        return response

    def _flash(self) -> Toast | None:
        given = self.request.cookies.get(of_this_server(self.request, _FLASH_COOKIE))
        if not given:
            return None
        try:
            value = json.loads(unquote(given))
            return Toast(**(value | {"ids": tuple(value["ids"])}))
        except (ValueError, TypeError, KeyError):
            return None

    def _context(self, context: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "visit": self,
            "csrf": self.form_token,
            "theme": theme_of(self.request),
            "flash": self._flash(),
            "path": self.request.url.path,
            "here": _here(self.request),
            "menu": rendering.menu(is_admin=self.is_admin),
            "now": self.core.clock.now(),
            **context,
        }


def _for_a_cookie(toast: Toast) -> str:
    """A toast as far as a cookie holds it, which a browser drops whole where it is longer: ids that are too many,
    what would be undone of them, and the middle of the text are left out.
    """
    toast = replace(toast, ids=toast.ids[:_IDS_IN_A_COOKIE])
    if len(_quoted(replace(toast, text=""))) > _LONGEST_IN_A_COOKIE // 4 * 3:
        toast = replace(toast, undo=None, ids=())
    text = toast.text
    while len(_quoted(toast)) > _LONGEST_IN_A_COOKIE:
        part = len(text) * 9 // 20
        text = text[:part] + text[-part:]
        toast = replace(toast, text=f"{text[:part]} … {text[-part:]}")
    return _quoted(toast)


def _quoted(toast: Toast) -> str:
    return quote(json.dumps(asdict(toast), separators=(",", ":"), ensure_ascii=False))


def of_this_server(request: Request, name: str) -> str:
    """Cookies are shared by all ports of a host, and two servers on one machine are not the same site to us."""
    return f"{name}_{request.url.port or request.url.scheme}"


def theme_of(request: Request) -> str:
    chosen = request.cookies.get(_THEME_COOKIE, "auto")
    return chosen if chosen in THEMES else "auto"


def set_theme(response: Response, theme: str) -> None:
    response.set_cookie(_THEME_COOKIE, theme, max_age=365 * 86400, path=HOME, httponly=True, samesite="lax")


def language_of(request: Request) -> str:
    """What the reader chose, else what the browser asks for, else English."""
    return wanted_language(request.cookies.get(_LANGUAGE_COOKIE, ""), request.headers.get("accept-language", ""))


def set_language(response: Response, language: str) -> None:
    response.set_cookie(_LANGUAGE_COOKIE, language, max_age=365 * 86400, path=HOME, httponly=True, samesite="lax")


def _here(request: Request) -> str:
    """The page that is looked at; what was posted to is none."""
    if request.method != "GET":
        return HOME
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def as_chosen(request: Request, holder: Principal) -> tuple[Principal, str]:
    """Whose memories an admin looks at: its own, everybody's or another user's, and with which agent. A choice
    it may not make is none.
    """
    whose = unquote(request.cookies.get(of_this_server(request, _WHOSE_COOKIE), ""))
    agent = unquote(request.cookies.get(of_this_server(request, _AGENT_COOKIE), ""))
    if not access.allows(holder, access.Action.ADMINISTER):
        return holder, ""
    whose = "" if whose == holder.user else whose
    try:
        if whose == EVERYBODY:
            chosen = replace(holder, user=None, agent=None)
        else:
            chosen = access.acting(holder, user=validation.identifier("user", whose)) if whose else holder
        return access.acting(chosen, agent=validation.identifier("agent", agent)) if agent else chosen, whose
    except MemoristError:
        return holder, ""


def set_whose(request: Request, response: Response, whose: str, agent: str = "") -> None:
    secure = request.url.scheme == "https"
    for cookie, value in ((_WHOSE_COOKIE, whose), (_AGENT_COOKIE, agent)):
        name = of_this_server(request, cookie)
        response.set_cookie(name, quote(value), path=HOME, httponly=True, samesite="lax", secure=secure)


def parse_form(body: bytes) -> FormData:
    """The fields of a posted form. Raises InvalidField where it is none."""
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        return FormData([(name, value) for name, value in pairs])
    except ValueError:  # Undecodable, or too many fields.
        raise InvalidField(say("This form cannot be read: at most 2,000 fields in UTF-8 are taken.")) from None
