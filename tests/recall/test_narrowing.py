"""A large shelf: a question looks at few of its rows, and finds what one that looks at all of them does."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memorist.platform.values import Principal, Role
from memorist.recall.candidates import candidates
from memorist.recall.fusion import FUSION
from memorist.recall.index import snapshot, vectors
from memorist.recall.index.arranging import arranged
from memorist.recall.index.part import Part
from memorist.recall.index.shelf import Shelf
from memorist.recall.index.view import View
from memorist.recall.narrowing import Opened
from memorist.recall.question import Asked
from memorist.recall.ranking import Scores
from memorist.recall.scored import Scored, scored, worded
from memorist.recall.values import Question, Weights
from tests.recall.index_rows import MODEL, Rows, refreshed

THREADS, TURNS, SIZE = 700, 16, 96
NOW = datetime(2026, 11, 1, tzinfo=UTC)
ADA = Principal("t", Role.USER, "ada")
WORDS = [f"word{number}x" for number in range(900)]


class Library:
    """Conversations, each on a subject of its own, with the vectors and the words that such a subject has."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(3)
        self.store = Rows()
        self.subjects = self.rng.standard_normal((60, SIZE), dtype=np.float32)
        self.vectors: dict[str, Scores] = {}
        for thread in range(THREADS):
            subject = self.rng.integers(len(self.subjects))
            about = self.subjects[subject] + self._noise(0.7)
            for turn in range(TURNS):
                vector = about + self._noise(0.8)
                self.put(f"mem_{thread:04}_{turn:02}", f"s{thread}", vector, self._text(subject))

    def put(self, memory_id: str, thread: str, vector: Scores, text: str, windows: int = 1, **fields: Any) -> None:
        self.vectors[memory_id] = vector / np.linalg.norm(vector)
        several = np.stack([self.vectors[memory_id], *(_unit(self._noise(1)) for _ in range(windows - 1))])
        told = {"kind": "chat_message", "event_time": int(memory_id[4:8]), "vectors": vectors.pack(several)}
        self.store.put(memory_id, [text] * windows, thread=thread, **(told | fields))

    def question(self) -> tuple[str, Scores]:
        """About one of the memories, in some of its words and in others."""
        memory_id = sorted(self.vectors)[self.rng.integers(len(self.vectors))]
        known = self.store.texts[memory_id][0].split()
        asked = [*self.rng.choice(known, 2), WORDS[self.rng.integers(len(WORDS))]]
        return " ".join(asked), _unit(self.vectors[memory_id] + self._noise(0.08))

    def _noise(self, size: float) -> Scores:
        return self.rng.standard_normal(SIZE, dtype=np.float32) * np.float32(size)

    def _text(self, subject: int) -> str:
        of_subject = (subject * 15 + self.rng.zipf(1.6, 5)) % len(WORDS)
        anything = self.rng.zipf(1.3, 5) % len(WORDS)
        return " ".join(WORDS[number] for number in (*of_subject, *anything))


def _unit(vector: Scores) -> Scores:
    return vector / np.linalg.norm(vector)


@pytest.fixture(scope="module")
def library() -> Library:
    return Library()


@pytest.fixture(scope="module")
def shelf(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """In lists, as it comes from its file."""
    made = Shelf("ada", MODEL)
    refreshed(made, library.store)
    return saved(made, tmp_path_factory.mktemp("saved") / "file")


def saved(shelf: Shelf, file: Path) -> Shelf:
    with file.open("wb") as out:
        snapshot.write(out, arranged(shelf.saved(), 1000), ["ada"])
    mapped = Shelf("ada", MODEL)
    mapped.map(snapshot.read(file, ["ada"], writable="column."))
    return mapped


@pytest.fixture(autouse=True)
def _looks_at_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few as there would be of a million."""
    monkeypatch.setattr("memorist.recall.index.lists.PROBED", 20)
    for name, value in {"_NEAREST": 400, "_ENOUGH": 40, "_FEW": 500, "_KEPT": 150}.items():
        monkeypatch.setattr(f"memorist.recall.narrowing.{name}", value)
    monkeypatch.setattr("memorist.recall.index.postings._LIKELY", 600)
    monkeypatch.setattr("memorist.recall.index.postings._LOOKED_THROUGH", 2000)


def asking(query: str, **fields: Any) -> Asked:
    return replace(Asked.of(ADA, Question(query, **fields), Weights(), 0.0, NOW), users=["ada"])


def looked_at_all(view: View, asked: Asked, vector: Scores | None) -> Scored:
    return scored(worded(candidates([view], asked), FUSION), vector, FUSION)


def looked_at_few(view: View, asked: Asked, vector: Scores | None) -> Scored:
    return scored(Opened([view], asked).narrowed(vector, FUSION, 14), vector, FUSION)


def first(found: Scored, count: int = 10) -> list[str]:
    return [found.candidates.ids[place] for place in found.first(count).tolist()]


def agreement(view: View, library: Library, rounds: int, **fields: Any) -> float:
    """The share of the first ten of all that the few have."""
    shares = []
    for _ in range(rounds):
        query, vector = library.question()
        asked = asking(query, **fields)
        expected = first(looked_at_all(view, asked, vector))
        shares.append(len(set(expected) & set(first(looked_at_few(view, asked, vector)))) / max(1, len(expected)))
    return float(np.mean(shares))


def test_few_rows_are_looked_at_and_the_first_ten_are_the_same(shelf: Shelf, library: Library) -> None:
    view = refreshed(shelf, library.store)
    assert view.is_large
    query, vector = library.question()
    part = looked_at_few(view, asking(query), vector).candidates.views[0]
    assert isinstance(part, Part)
    assert part.size < view.size / 4
    assert agreement(view, library, 60) >= 0.99
