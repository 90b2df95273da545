"""Templates, and the headers that keep a page to itself. Memory text is always escaped; nothing here marks it safe."""

import hashlib
import json
import re
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import Response

from memorist.surfaces.dashboard.wording import say_in_page
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


_OVERRIDES = {"\u202d": ("LRO", "left-to-right override"), "\u202e": ("RLO", "right-to-left override")}
_CODE = re.compile("`([^`]+)`")
_OVERRIDE = re.compile("[\u202d\u202e]")
_TAGS_AND_TEXTS = re.compile(r"<(?:textarea|title|option)\b.*?</(?:textarea|title|option)>|<[^>]*>|[^<]+", re.S)


class MenuItem(NamedTuple):
    section: str
    label: str
    address: str
    key: str


_MENU = (
    MenuItem("home", "Home", "/dashboard", "h"),
    MenuItem("about", "About you", "/dashboard/about", "y"),
    MenuItem("people", "People and things", "/dashboard/people", "w"),
    MenuItem("memories", "Memories", "/dashboard/memories", "m"),
    MenuItem("conversations", "Conversations", "/dashboard/conversations", "c"),
    MenuItem("documents", "Documents", "/dashboard/documents", "f"),
    MenuItem("recall", "Recall", "/dashboard/recall", "r"),
    MenuItem("turns", "Turns", "/dashboard/turns", "t"),
    MenuItem("doubts", "In doubt", "/dashboard/doubts", "d"),
    MenuItem("privacy", "Privacy", "/dashboard/privacy", "p"),
)
_ADMIN_MENU = (
    MenuItem("access", "Access", "/dashboard/access", "a"),
    MenuItem("audit", "Audit log", "/dashboard/audit", "l"),
    MenuItem("system", "System", "/dashboard/system", "s"),
)


def menu(*, is_admin: bool) -> tuple[MenuItem, ...]:
    return (*_MENU, *_ADMIN_MENU) if is_admin else _MENU


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
    name, words = _OVERRIDES[found[0]]
    return (
        f'<span class="override" data-mark="{name}" role="img" aria-label="{words}" title="{words}">{found[0]}</span>'
    )


def protect(response: Response) -> None:
    response.headers["Content-Security-Policy"] = SECURITY_POLICY
    response.headers["X-Frame-Options"] = "DENY"
    response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    # Not part of the policy above: what htmx loads differs from the page at the same address.
    response.headers["Vary"] = "HX-Request, Cookie"


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
    environment.globals |= {"static": static, "version": __version__, "_": say_in_page}
    environment.filters |= {
        "ago": _ago,
        "moment": _moment,
        "count": _count,
        "size": _size,
        "dollars": _dollars,
        "pretty": _pretty,
        "plural": _plural,
        "prose": _prose,
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
        return Markup("<span class=soft>never</span>")
    seconds = ((now or SystemClock().now()) - value).total_seconds()
    words = _duration(abs(seconds))
    text = "just now" if words is None else f"{words} ago" if seconds > 0 else f"in {words}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(value.isoformat(), _exact(value), text)


def _moment(value: datetime | None) -> Markup:
    if value is None:
        return Markup("<span class=soft>never</span>")
    return Markup('<time datetime="{}">{}</time>').format(value.isoformat(), _exact(value))


def _exact(value: datetime) -> str:
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


_UNITS = ((31_536_000, "year"), (2_592_000, "month"), (86_400, "day"), (3600, "hour"), (60, "minute"))


def _duration(seconds: float) -> str | None:
    for length, unit in _UNITS:
        if seconds >= length:
            return _plural(int(seconds // length), unit)
    return None


def _count(value: int) -> str:
    return f"{value:,}"


def _size(value: float) -> str:
    for unit in ("B", "KB", "MB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GB"


def _dollars(value: float | None) -> str:
    if value is None:
        return "price unknown"
    return f"${value:.2f}" if value >= 0.01 or value == 0 else f"${value:.5f}"


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _plural(value: int, word: str, plural: str | None = None) -> str:
    return f"{value:,} {word if value == 1 else plural or word + 's'}"


def _prose(text: str) -> Markup:
    """A text of ours, in which backquotes mark code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))
