"""What the dashboard says, in the reader's language. English is the text itself; the catalogue has the others.

Whoever adds a language adds `catalogue/<code>.json`: each English text, and the same in that language.
"""

import json
import re
import string
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from functools import cache
from pathlib import Path

from markupsafe import Markup

_LANGUAGE: ContextVar[str] = ContextVar("language", default="en")
CATALOGUE: dict[str, dict[str, str]] = {
    path.stem: json.loads(path.read_text("utf-8"))
    for path in sorted((Path(__file__).parent / "catalogue").glob("*.json"))
}
LANGUAGES: Mapping[str, str] = {"en": "English"} | {code: texts["English"] for code, texts in CATALOGUE.items()}
"""The languages there are, each by its own name."""

_NAME = re.compile(r"\{\w+\}")
_LEAST_LETTERS = 12
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def say(text: str, /, **values: object) -> str:
    """A text of ours in the reader's language, with values for its {names}. For code: nothing is escaped."""
    translated = _translated(text)
    return translated.format(**values) if values else translated


def say_n(one: str, many: str, n: int, /, **values: object) -> str:
    """The text for one or the text for many, where {n} is the number."""
    return _translated(one if n == 1 else many).format(n=number(n), **values)


def say_in_page(text: str, /, **values: object) -> Markup:
    """The same as `say` for templates, where it is called `_`: the text may hold tags, and values are escaped."""
    translated = Markup(_translated(text))
    return translated.format(**values) if values else translated


def say_n_in_page(one: str, many: str, n: int, /, **values: object) -> Markup:
    """The same as `say_n` for templates, where it is called `_n`."""
    return Markup(_translated(one if n == 1 else many)).format(n=number(n), **values)


def topic(heading: str) -> str:
    """The heading of a part of a profile, where "Home" is no page."""
    key = f"topic: {heading}"
    return _translated(key).removeprefix("topic: ")


def to_say(text: str) -> str:
    """Marks a text that is kept before anybody reads it, such as a constant: `say` it, or `| spoken` in a template."""
    return text


def number(value: float, digits: int = 0) -> str:
    """A number as the reader writes it."""
    said, pattern = f"{value:,.{digits}f}", say("1,234.5")
    return said if pattern == "1,234.5" else said.translate({ord(","): pattern[1], ord("."): pattern[5]})


def day(value: date) -> str:
    """A day in words, short, with its year."""
    return say("{day} {month} {year}", day=value.day, month=say(f"{value:%b}"), year=value.year)


def whole_day(value: date) -> str:
    return say("{day} {month} {year}", day=value.day, month=say(_MONTHS[value.month - 1]), year=value.year)


def day_of_this_year(value: date) -> str:
    return say("{day} {month}", day=value.day, month=say(_MONTHS[value.month - 1]))


def language() -> str:
    """The code of the reader's language."""
    return _LANGUAGE.get()


def wanted_language(chosen: str, accepted: str) -> str:
    """What the reader chose or else what their browser asks for, of those that there are; English where there is none.

    `accepted` is the header Accept-Language.
    """
    if chosen in LANGUAGES:
        return chosen
    wishes = [_wish(part) for part in accepted.split(",")]
    known = [(weight, code) for weight, code in wishes if code in LANGUAGES and weight > 0]
    return max(known, key=lambda wish: wish[0])[1] if known else "en"


def _wish(part: str) -> tuple[float, str]:
    tag, _, weight = part.strip().partition(";q=")
    try:
        return float(weight or 1), tag.partition("-")[0].lower()
    except ValueError:
        return 0.0, ""


@contextmanager
def speaking(language: str) -> Iterator[None]:
    token = _LANGUAGE.set(language)
    try:
        yield
    finally:
        _LANGUAGE.reset(token)


def is_ours(text: str) -> bool:
    """Whether a text is in the reader's language, as far as the catalogue tells, with whatever values it was said."""
    if language() == "en" or text in CATALOGUE[language()].values():
        return True
    return any(shape.fullmatch(text) for shape in _shapes(language()))


@cache
def _shapes(code: str) -> tuple[re.Pattern[str], ...]:
    """What texts with values look like, but for those of so few letters that anything may look like them."""
    named = [text for text in CATALOGUE[code].values() if "{" in text]
    return tuple(as_pattern(text) for text in named if sum(map(str.isalpha, _NAME.sub("", text))) >= _LEAST_LETTERS)


@cache
def as_pattern(text: str) -> re.Pattern[str]:
    """Finds the values of a text's {names} in what was said with it."""
    seen: set[str] = set()
    pattern = ""
    for fixed, name, _, _ in string.Formatter().parse(text):
        pattern += re.escape(fixed)
        if name is not None:
            pattern += f"(?P={name})" if name in seen else f"(?P<{name}>.+?)"
            seen.add(name)
    return re.compile(pattern, re.DOTALL)


def _translated(text: str) -> str:
    return CATALOGUE.get(_LANGUAGE.get(), {}).get(text, text)
