"""Templates, and the headers that keep a page to itself. Memory text is always escaped; nothing here marks it safe."""

import hashlib
import json
import re
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import Response

from memorist.surfaces.dashboard.refusals import in_words
from memorist.surfaces.dashboard.wording import (
    LANGUAGES,
    day,
    language,
    number,
    say,
    say_in_page,
    say_n,
    say_n_in_page,
    to_say,
    topic,
)
from memorist.times import SystemClock
from memorist.version import __version__

_FOLDER = Path(__file__).parent
STATIC = _FOLDER / "static"
_HOME = ("dashboard.css", "pages/doubts.css", "pages/home.css")

# No inline script, no inline style, nothing from elsewhere.
SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


_OVERRIDES = {
    "\u202d": ("LRO", to_say("left-to-right override")),
    "\u202e": ("RLO", to_say("right-to-left override")),
}
_CODE = re.compile("`([^`]+)`")
_OVERRIDE = re.compile("[\u202d\u202e]")
_TAGS_AND_TEXTS = re.compile(r"<(?:textarea|title|option)\b.*?</(?:textarea|title|option)>|<[^>]*>|[^<]+", re.S)


class MenuItem(NamedTuple):
    section: str
    label: str
    address: str
    key: str


_MENU = (
    MenuItem("home", to_say("Home"), "/dashboard", "h"),
    MenuItem("about", to_say("About you"), "/dashboard/about", "y"),
    MenuItem("people", to_say("People and things"), "/dashboard/people", "w"),
    MenuItem("memories", to_say("Memories"), "/dashboard/memories", "m"),
    MenuItem("conversations", to_say("Conversations"), "/dashboard/conversations", "c"),
    MenuItem("documents", to_say("Documents"), "/dashboard/documents", "f"),
    MenuItem("recall", to_say("Recall"), "/dashboard/recall", "r"),
    MenuItem("chat", to_say("Chat"), "/dashboard/chat", "k"),
    MenuItem("turns", to_say("Turns"), "/dashboard/turns", "t"),
    MenuItem("activity", to_say("Activity"), "/dashboard/activity", "v"),
    MenuItem("doubts", to_say("In doubt"), "/dashboard/doubts", "d"),
    MenuItem("transfer", to_say("Import and export"), "/dashboard/transfer", "i"),
    MenuItem("privacy", to_say("Privacy"), "/dashboard/privacy", "p"),
)
_ADMIN_MENU = (
    MenuItem("access", to_say("Access"), "/dashboard/access", "a"),
    MenuItem("audit", to_say("Audit log"), "/dashboard/audit", "l"),
    MenuItem("system", to_say("System"), "/dashboard/system", "s"),
)


def menu(*, is_admin: bool) -> tuple[MenuItem, ...]:
    """The pages that there are for somebody, in the reader's language."""
    return _menu(language(), is_admin)


@lru_cache
def _menu(_language: str, is_admin: bool) -> tuple[MenuItem, ...]:
    return tuple(item._replace(label=say(item.label)) for item in (*_MENU, *(_ADMIN_MENU if is_admin else ())))


def render(template: str, context: dict[str, Any]) -> str:
    return _with_marks(_environment().get_template(template).render(context))


def _with_marks(html: str) -> str:
    """The page with a mark at each character that would turn the text after it around; what is edited stays as it is.

    Everything that was written by others is escaped, so that a tag is a tag.
    """
    if _OVERRIDE.search(html) is None:
        return html
    return "".join(
        part if part.startswith("<") else _OVERRIDE.sub(_mark, part) for part in _TAGS_AND_TEXTS.findall(html)
    )


def _mark(found: re.Match[str]) -> str:
    name, words = _OVERRIDES[found[0]][0], say(_OVERRIDES[found[0]][1])
    return (
        f'<span class="override" data-mark="{name}" role="img" aria-label="{words}" title="{words}">{found[0]}</span>'
    )


def protect(response: Response) -> None:
    response.headers["Content-Security-Policy"] = SECURITY_POLICY
    response.headers["X-Frame-Options"] = "DENY"
    response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    # Not part of the policy above: what htmx loads differs from the page at the same address.
    response.headers["Vary"] = "HX-Request, Cookie, Accept-Language"
    response.headers["Content-Language"] = language()


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"static": static, "version": __version__, "_": say_in_page, "_n": say_n_in_page}
    environment.globals |= {"language": language, "languages": LANGUAGES}
    environment.filters |= {
        "ago": _ago,
        "moment": _moment,
        "count": _count,
        "size": _size,
        "dollars": dollars,
        "pretty": _pretty,
        "plural": _plural,
        "prose": _prose,
        "spoken": say,
        "in_words": in_words,
        "topic": topic,
        "day": day,
        "date": _date,
        "decimal": number,
    }
    return environment


@lru_cache
def static_files() -> dict[str, bytes]:
    """Every file of ours by its name. What home needs to be painted is one file."""
    files = {path.relative_to(STATIC).as_posix(): path.read_bytes() for path in STATIC.rglob("*.*")}
    return files | {"home.css": b"".join(files[name] for name in _HOME)}


@lru_cache
def static(name: str) -> str:
    """The address of a file of ours, which changes with its content, so that a browser may keep it for good."""
    digest = hashlib.sha256(static_files()[name]).hexdigest()[:12]
    return f"/dashboard/static/{name}?v={digest}"


# Filters


def _ago(value: datetime | None, now: datetime | None = None) -> Markup:
    """How long ago, or in how long, with the exact time behind it."""
    if value is None:
        return _never()
    seconds = ((now or SystemClock().now()) - value).total_seconds()
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        value.isoformat(), _exact(value), _duration(seconds)
    )


def _moment(value: datetime | None) -> Markup:
    if value is None:
        return _never()
    return Markup('<time datetime="{}">{}</time>').format(value.isoformat(), _exact(value))


def _date(value: date) -> str:
    return value.strftime(say("%Y-%m-%d"))


def _never() -> Markup:
    return Markup("<span class=soft>{}</span>").format(say("never"))


def _exact(value: datetime) -> str:
    return f"{value.astimezone(UTC):{say('%Y-%m-%d %H:%M:%S UTC')}}"


def _duration(seconds: float) -> str:
    """How long ago; with a negative number, in how long."""
    for length, one, many in _PAST if seconds > 0 else _FUTURE:
        if abs(seconds) >= length:
            return say_n(one, many, int(abs(seconds) // length))
    return say("just now")


_PAST = (
    (31_536_000, to_say("{n} year ago"), to_say("{n} years ago")),
    (2_592_000, to_say("{n} month ago"), to_say("{n} months ago")),
    (86_400, to_say("{n} day ago"), to_say("{n} days ago")),
    (3600, to_say("{n} hour ago"), to_say("{n} hours ago")),
    (60, to_say("{n} minute ago"), to_say("{n} minutes ago")),
)
_FUTURE = (
    (31_536_000, to_say("in {n} year"), to_say("in {n} years")),
    (2_592_000, to_say("in {n} month"), to_say("in {n} months")),
    (86_400, to_say("in {n} day"), to_say("in {n} days")),
    (3600, to_say("in {n} hour"), to_say("in {n} hours")),
    (60, to_say("in {n} minute"), to_say("in {n} minutes")),
)


def _count(value: int) -> str:
    return number(value)


def _size(value: float) -> str:
    for unit in ("B", "KB", "MB"):
        if value < 1024:
            return f"{number(value, 0 if unit == 'B' else 1)} {unit}"
        value /= 1024
    return f"{number(value, 1)} GB"


def dollars(value: float | None) -> str:
    if value is None:
        return say("price unknown")
    return say("${amount}", amount=number(value, 2 if value >= 0.01 or value == 0 else 5))


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _plural(value: int, word: str, plural: str | None = None) -> str:
    """So many of something. The catalogue has `{n} word` and `{n} words`."""
    return say_n(f"{{n}} {word}", f"{{n}} {plural or word + 's'}", value)


def _prose(text: str) -> Markup:
    """A text of ours, in which backquotes mark code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))
