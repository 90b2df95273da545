"""The training data of the tagger and the judge, in one shape each."""

import json
import lzma
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memorist.learning.extractors.sentences import sentence_spans
from memorist.learning.extractors.statements import own_words
from memorist.models.passages import turn
from memorist.models.values import NEEDS, RULINGS, TOPICS, Passage, Span

SESSIONS, PAIRS, LANGUAGES = (Path(__file__).parent / f"{name}.json.xz" for name in ("sessions", "pairs", "languages"))


@dataclass(frozen=True, slots=True)
class Label:
    """What should be said of a sentence: importance 0 is not kept, 3 must be."""

    importance: int = 0
    topic: int = 0
    needs: int = 0
    of_other: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    passage: Passage
    labels: tuple[Label, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Pair:
    older: str
    newer: str
    label: int
    older_time: str = ""
    newer_time: str = ""
    source: str = ""


def load(path: Path) -> Any:
    return json.loads(lzma.open(path).read() if path.suffix == ".xz" else path.read_bytes())


def examples(sessions: Sequence[dict[str, Any]]) -> Iterator[Example]:
    """An example for each message that somebody wrote, with the message before it."""
    for session in sessions:
        previous = ""
        for message in session["messages"]:
            if message["role"] != "assistant" and (example := _example(session, message, previous)):
                yield example
            previous = turn(speaker_of(message), message["text"])


def speaker_of(message: dict[str, Any]) -> str:
    return {"user": "User", "assistant": "Assistant"}.get(message["role"], message["speaker"])


def _example(session: dict[str, Any], message: dict[str, Any], previous: str) -> Example | None:
    text = own_words(message["text"])
    spans = sentence_spans(text)
    labels = [_label(span, message.get("kept", ())) for span in spans]
    passage = Passage(text, spans, speaker_of(message), previous)
    return Example(passage, tuple(labels), session["id"].split("-")[0]) if spans else None


def _label(span: Span, kept: Sequence[dict[str, Any]]) -> Label:
    """The label of the kept stretch that covers at least half of the sentence, or is covered by it."""
    best = Label()
    for one in kept:
        start, end = one["span"]
        shared = min(end, span[1]) - max(start, span[0])
        if shared > 0 and 2 * shared >= min(end - start, span[1] - span[0]) and one["importance"] > best.importance:
            best = Label(one["importance"], TOPICS.index(one["topic"]), NEEDS.index(one["needs"]), one["of_other"])
    return best


def pairs(rows: Sequence[dict[str, Any]]) -> list[Pair]:
    return [
        Pair(
            row["older"],
            row["newer"],
            RULINGS.index(row["label"]),
            row.get("older_time") or "",
            row.get("newer_time") or "",
            row.get("set", ""),
        )
        for row in rows
    ]


def split(rows: Sequence[Pair], share: float, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Pairs to train on and pairs held back: families stay together."""
    families = sorted({row.older for row in rows})
    random.Random(seed).shuffle(families)
    held = set(families[: int(len(families) * share)])
    return [row for row in rows if row.older not in held], [row for row in rows if row.older in held]
