"""How a memory is written out for the models: who said it, when, and what was said around it.

The models were trained on exactly these shapes, so indexing, recall and training all build them here. Pure.
"""

import re
from datetime import date

EMBEDDED_CONTEXT_WORDS = 32
"""How much of the turn before is embedded with a turn."""

RERANKED_CONTEXT_WORDS = 14
"""How much of the turn before and of the turn after the reranker sees: less, since it reads every candidate anew."""

WINDOW_WORDS = 96
WINDOW_OVERLAP = 24

# A character of an unspaced script counts as a word; a very long run of others is cut, so that no word is endless.
_LONGEST_WORD = 24
_WORD = re.compile(
    rf"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\S{{1,{_LONGEST_WORD}}}"
)


def embedding_passage(text: str, *, speaker: str = "", date: str = "", previous: str = "") -> str:
    """The text to embed for a memory: `[8 May 2023] Mel: How was it? | Ada: Great!`.

    `previous` is the turn before it in the same session, written by `turn`.
    """
    return _join(date, last_words(previous, EMBEDDED_CONTEXT_WORDS), turn(speaker, text), "")


def reranking_passage(text: str, *, speaker: str = "", date: str = "", previous: str = "", following: str = "") -> str:
    """The text that the reranker reads for a memory: as it is embedded, with the turn after it as well."""
    before, after = last_words(previous, RERANKED_CONTEXT_WORDS), first_words(following, RERANKED_CONTEXT_WORDS)
    return _join(date, before, turn(speaker, text), after)


def turn(speaker: str, text: str) -> str:
    return f"{speaker}: {text}" if speaker else text


def spoken_date(day: date) -> str:
    """`8 May 2023`: the way people write a date, and the way they ask about it, in any locale."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def windows(text: str, size: int = WINDOW_WORDS, overlap: int = WINDOW_OVERLAP) -> list[str]:
    """Overlapping cuts of a long text, each an exact piece of it; a short text is its own single window."""
    if not 0 <= overlap < size:
        raise ValueError("overlap must be at least 0 and smaller than size")
    # A rest shorter than the overlap was already read by the window before it.
    if _most_words(text) <= size + overlap or len(spans := _spans(text)) <= size + overlap:
        return [text]
    starts = range(0, len(spans) - overlap, size - overlap)
    return [text[spans[start][0] : spans[min(start + size, len(spans)) - 1][1]] for start in starts]


def count_words(text: str) -> int:
    """Words as windows have them: what a model takes for a text grows with them."""
    return len(_spans(text))


def first_words(text: str, count: int) -> str:
    spans = _spans(text)
    return text if len(spans) <= count else text[: spans[count - 1][1]]


def last_words(text: str, count: int) -> str:
    """The end of a turn: where it asks something, the question mostly stands there."""
    spans = _spans(text)
    return text if len(spans) <= count else text[spans[-count][0] :]


def _most_words(text: str) -> int:
    """No fewer words than it has, in a tenth of the time that counting them takes."""
    return len(text.split()) + len(text) // _LONGEST_WORD if text.isascii() else len(text)


def _spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _WORD.finditer(text)]


def _join(date: str, before: str, own: str, after: str) -> str:
    head = " ".join(part for part in (f"[{date}]" if date else "", before) if part)
    return " | ".join(part for part in (head, own, after) if part)


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
