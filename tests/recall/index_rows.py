"""Rows of an index without a database, and what shelves over them must say."""

import math
import random
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest

from memorist import words
from memorist.memories.searchable import Standing
from memorist.recall.index import reading, vectors
from memorist.recall.index.postings import wording
from memorist.recall.index.shelf import Shelf
from memorist.recall.index.view import View
from memorist.recall.ranking import rarity
from memorist.recall.values import IndexMark, IndexPage, IndexPosition, IndexRow
from tests.support.models import word_vector

VOCABULARY = ["tea", "train", "tax", "river", "owl", "oak", "piano", "salt"]
MODEL = "m"


class Rows:
    """A user's rows as a store would have them: what was written last, and in which order."""

    def __init__(self) -> None:
        self.rows: dict[str, IndexRow] = {}
        self.texts: dict[str, list[str]] = {}
        self._changes = count(1)
        self.loads = 0

    def put(self, memory_id: str, windows: list[str], *, embedded: bool = True, **fields: Any) -> None:
        values: dict[str, Any] = {
            "agent": "",
            "thread": "",
            "kind": "fact",
            "category": "",
            "project": "",
            "standing": int(Standing.LIVE),
            "event_time": 0,
            "created_at": 0,
            "expires_at": None,
            "valid_from": None,
            "valid_to": None,
            "retired_at": None,
            "digest": hash(tuple(windows)) >> 1,
            "terms": words.pack(" ".join(windows)),
            "model": MODEL if embedded else "",
            "vectors": vectors.pack(np.stack([word_vector(one) for one in windows])) if embedded else None,
        }
        self.rows[memory_id] = IndexRow(change=next(self._changes), memory_id=memory_id, **(values | fields))
        self.texts[memory_id] = windows

    # As a store, its reader and the index of that

    @property
    def index(self) -> "Rows":
        return self

    def read(self, _: str, work: Callable[[Any], Any], **__: Any) -> Any:
        return work(self)

    def watermark(self, _: str | None) -> int:
        return max((row.change for row in self.rows.values()), default=0)

    def marks(self, _: str | None, memory_ids: Sequence[str]) -> list[IndexMark]:
        return [IndexMark(one, row.change, row.digest) for one, row in self.rows.items() if one in memory_ids]

    def newest(self, _: str | None, until: int, limit: int) -> list[IndexMark]:
        rows = sorted(self.rows.values(), key=lambda row: row.change, reverse=True)
        return [IndexMark(row.memory_id, row.change, row.digest) for row in rows if row.change <= until][:limit]

    def size(self, _: str | None) -> int:
        return len(self.rows)

    def load(self, _: str | None, after_id: str, limit: int) -> list[IndexRow]:
        self.loads += after_id == ""
        return [row for memory_id, row in sorted(self.rows.items()) if memory_id > after_id][:limit]

    def follow(self, positions: Sequence[IndexPosition], limit: int) -> list[IndexPage]:
        ordered = sorted(self.rows.values(), key=lambda row: (row.change, row.memory_id))
        return [
            IndexPage(
                self.watermark(position.user),
                [row for row in ordered if (row.change, row.memory_id) > (position.change, position.memory_id)][:limit],
            )
            for position in positions
        ]


def refreshed(shelf: Shelf, store: Rows) -> View:
    """A shelf with all that changed since it was last read."""
    return reading.caught_up(store, "t", [shelf])[0]  # type: ignore[arg-type]


def places_in(view: View) -> dict[str, int]:
    """Places by id; of those that an id had one after the other, the last."""
    found = {view.ids[place]: place for place in range(view.size)}
    assert found == {memory_id: view.place_of(memory_id) for memory_id in found}
    assert view.place_of("mem_that_is_longer_than_any_other_one") is None
    return found


def by_id(view: View, values: Any) -> dict[str, Any]:
    """Values by id, of the places that are in use."""
    return {memory_id: values[place] for memory_id, place in places_in(view).items()}


def assert_same(view: View, store: Rows) -> None:
    """Everything that the view says, against the rows."""
    places = places_in(view)
    assert set(places) == set(store.rows)
    question = word_vector("tea by the river")
    cosines, which = view.cosines(question)
    scores = wording([view.postings], [words.hash_of(term) for term in ("tea", "river", "nowhere")])[0].bm25
    documents = view.size
    containing = {term: [place for place in range(view.size) if _count(view, place, term)] for term in ("tea", "river")}
    for memory_id, row in store.rows.items():
        place = places[memory_id]
        windows = store.texts[memory_id]
        for name in ("agent", "thread", "kind", "category", "project"):
            assert view.columns[name][place] == view.code(name, getattr(row, name))
        assert view.columns["standing"][place] == row.standing
        if row.model == MODEL:
            expected = [float(word_vector(one) @ question) for one in windows]
            assert view.columns["windows"][place] == len(windows)
            assert cosines[place] == pytest.approx(max(expected), abs=0.01)
            assert expected[which[place]] == pytest.approx(max(expected), abs=0.02)
        else:
            assert (view.columns["windows"][place], cosines[place]) == (0, 0)
        length = len(words.terms(" ".join(windows)))
        assert view.postings.lengths[place] == length
        score = 0.0
        mean = view.postings.words / max(1, documents)
        rarest = max((rarity(documents, len(places)) for places in containing.values() if places), default=0)
        for term in ("tea", "river"):
            occurs = min(15, words.terms(" ".join(windows)).count(words.terms(term)[0]))
            assert _count(view, place, term) == occurs
            weight = rarity(documents, len(containing[term]))
            assert weight == pytest.approx(
                math.log(1 + (documents - len(containing[term]) + 0.5) / (len(containing[term]) + 0.5))
            )
            # What nearly all contain tells nothing beside something rarer.
            if occurs and not (weight < 0.22 and rarest > 0.88):
                score += weight * occurs * 2.2 / (occurs + 1.2 * (0.25 + 0.75 * length / max(1.0, mean)))
        assert scores[place] == pytest.approx(score, rel=1e-3)
    assert_chains(view, store)


def assert_chains(view: View, store: Rows) -> None:
    """The turn before another is the one with the next smaller id in its thread."""
    for thread in {row.thread for row in store.rows.values()} - {""}:
        ids = sorted(memory_id for memory_id, row in store.rows.items() if row.thread == thread)
        for earlier, later in zip([None, *ids], ids, strict=False):
            expected = -1 if earlier is None else view.place_of(earlier)
            assert view.columns["previous"][view.place_of(later)] == expected, f"{later} comes after {earlier}"
    previous = view.columns["previous"]
    linked = view.columns["linked"]
    assert ((linked == 1) == ((previous >= 0) & (previous == np.arange(view.size) - 1))).all()


def _count(view: View, place: int, term: str) -> int:
    rows, counts, _ = view.postings.containing(words.hash_of(words.terms(term)[0]))
    (found,) = np.flatnonzero(rows == place)[:1].tolist() or [None]
    return 0 if found is None else int(counts[found])


def text(rng: random.Random, windows: int = 1) -> list[str]:
    return [" ".join(rng.choices(VOCABULARY, k=rng.randint(1, 12))) for _ in range(windows)]
