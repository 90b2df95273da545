"""What the dashboard says, in the reader's language. English is the text itself; the catalogue has the others."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from markupsafe import Markup

_LANGUAGE: ContextVar[str] = ContextVar("language", default="en")
_CATALOGUE: dict[str, dict[str, str]] = {}


def say(text: str, **values: object) -> str:
    """A text of ours in the reader's language, with values for its {names}. For code: nothing is escaped."""
    return _translated(text).format(**values)


def say_in_page(text: str, **values: object) -> Markup:
    """The same for templates, where it is called `_`: the text may hold tags, and values are escaped."""
    return Markup(_translated(text)).format(**values)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    token = _LANGUAGE.set(language)
    try:
        yield
    finally:
        _LANGUAGE.reset(token)


def _translated(text: str) -> str:
    return _CATALOGUE.get(_LANGUAGE.get(), {}).get(text, text)
