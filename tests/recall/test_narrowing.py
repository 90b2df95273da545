"""A large shelf: a question looks at few of its rows, and finds what one that looks at all of them does."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from memorist import words
from memorist.memories.searchable import Standing
from memorist.memories.values import Memory, Owner
from memorist.platform.values import Principal, Role
from memorist.recall.candidates import candidates
from memorist.recall.fusion import FUSION
from memorist.recall.index import snapshot, vectors
from memorist.recall.index.arranging import arranged
from memorist.recall.index.lists import PROBED
from memorist.recall.index.matrix import MatrixView
from memorist.recall.index.part import PartOfShelf
from memorist.recall.index.postings import PostingLists, likely
from memorist.recall.index.shelf import Shelf
from memorist.recall.index.view import View
from memorist.recall.narrowing import Opened
from memorist.recall.nearest import nearest
from memorist.recall.question import Asked
from memorist.recall.ranking import Scores
from memorist.recall.scored import Scored, scored, worded
from memorist.recall.values import Question, Weights
from memorist.times import to_micros
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
                fields = {"category": "rare"} if self.rng.random() < 0.01 else {}
                fields["kind"] = "fact" if turn % 3 == 0 else "chat_message"
                windows = 3 if turn == 5 else 1
                self.put(f"mem_{thread:04}_{turn:02}", f"s{thread}", vector, self._text(subject), windows, **fields)

    def put(self, memory_id: str, thread: str, vector: Scores, text: str, windows: int = 1, **fields: Any) -> None:
        self.vectors[memory_id] = vector / np.linalg.norm(vector)
        several = np.stack([self.vectors[memory_id], *(_unit(self._noise(1)) for _ in range(windows - 1))])
        several = np.roll(several, windows // 2, axis=0)
        then = to_micros(NOW - timedelta(days=int(memory_id[4:8])))
        self.store.put(memory_id, [text] * windows, thread=thread, event_time=then, **fields)
        if self.store.rows[memory_id].vectors is not None:
            self.store.rows[memory_id] = self.store.rows[memory_id]._replace(vectors=vectors.pack(several))

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


@pytest.fixture(autouse=True)
def _own_chance(library: Library, request: pytest.FixtureRequest) -> None:
    """Each test asks the same, whichever others ran before it."""
    library.rng = np.random.default_rng(crc32(request.node.name.encode()))


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
    monkeypatch.setattr("memorist.recall.index.lists.COMPARED", (2000, 2000))
    monkeypatch.setattr("memorist.recall.index.lists._LOOKED_AT", (500, 2000))
    for name, value in {"_ENOUGH": 40, "_FEW": 500, "_KEPT": 150, "_NEAR": 300}.items():
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
        found = first(looked_at_few(view, asked, vector))
        shares.append(len(set(expected) & set(found)) / len(expected) if expected else float(not found))
    return float(np.mean(shares))


def test_few_rows_are_looked_at_and_the_first_ten_are_the_same(shelf: Shelf, library: Library) -> None:
    view = refreshed(shelf, library.store)
    assert view.is_large
    query, vector = library.question()
    part = looked_at_few(view, asking(query), vector).candidates.views[0]
    assert isinstance(part, PartOfShelf)
    assert part.size < view.size / 4
    assert agreement(view, library, 60) >= 0.99


def test_what_is_best_by_words_and_meaning_together_is_found_where_many_are_better_by_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.recall.index.lists._LOOKED_AT", (1500, 2000))
    monkeypatch.setattr("memorist.recall.index.postings._LIKELY", 300)
    monkeypatch.setattr("memorist.recall.index.postings._LOOKED_INTO", 300)
    rng, store = np.random.default_rng(4), Rows()

    def put(vector: Scores, text: str) -> None:
        number = len(store.rows)
        store.put(f"mem_{number:04}", [text], thread=f"s{number}", vectors=vectors.pack(_unit(vector)[np.newaxis]))

    asked, *apart = map(_unit, rng.standard_normal((3001, SIZE), dtype=np.float32))
    put(asked + apart[0] * np.float32(0.8), "the owl in the tower")
    for number, one in enumerate(apart[1:]):
        if number % 5 == 0:
            put(asked + one * np.float32(0.2), f"anything {number}")
        else:
            put(one, "the owl in the tower" if number % 5 == 1 else f"else {number}")
    made = Shelf("ada", MODEL)
    refreshed(made, store)
    view = refreshed(saved(made, tmp_path / "file"), store)
    assert first(looked_at_all(view, asking("owl tower"), asked))[0] == "mem_0000"
    assert first(looked_at_few(view, asking("owl tower"), asked))[0] == "mem_0000"


def test_what_words_count_is_measured_by_the_turns_whose_words_fit_best_together(
    shelf: Shelf, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.recall.narrowing._KEPT", 20)
    view = refreshed(shelf, library.store)
    for _ in range(20):
        query, vector = library.question()
        few, every = looked_at_few(view, asking(query), vector), looked_at_all(view, asking(query), vector)
        part = few.candidates.views[0]
        assert isinstance(part, PartOfShelf)
        here = few.first(10)
        assert few.words.normal[here] == pytest.approx(every.words.normal[part.at[here]], abs=0.02)


def test_what_comes_first_is_compared_as_it_is_and_the_rest_about_so(
    shelf: Shelf, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.recall.narrowing._READ", 100)
    view = refreshed(shelf, library.store)
    for _ in range(5):
        query, vector = library.question()
        few, every = looked_at_few(view, asking(query), vector), looked_at_all(view, asking(query), vector)
        part = few.candidates.views[0]
        assert isinstance(part, PartOfShelf)
        errors = np.abs(few.meaning.cosines - every.meaning.cosines[part.at])
        assert errors[few.first(40)].max() < 1e-6
        assert errors[part.needed].max() < 1e-6
        assert 0.001 < errors.mean() < 0.1


@pytest.mark.parametrize(
    "asked_for",
    [
        {"source_kinds": ("fact",)},
        {"before": NOW - timedelta(days=300)},
        {"category": "rare"},
        {"category": "rare", "after": NOW - timedelta(days=50)},
        {"category": "no such"},
    ],
    ids=["a third", "half", "few", "hardly any", "none"],
)
def test_filters_leave_the_first_ten_the_same(shelf: Shelf, library: Library, asked_for: dict[str, Any]) -> None:
    assert agreement(refreshed(shelf, library.store), library, 25, **asked_for) >= 0.99


def test_filter_that_leaves_few_compares_each_of_them(shelf: Shelf, library: Library) -> None:
    view = refreshed(shelf, library.store)
    query, vector = library.question()
    asked = asking(query, category="rare")
    few, every = looked_at_few(view, asked, vector), looked_at_all(view, asked, vector)
    part = few.candidates.views[0]
    assert isinstance(part, PartOfShelf)
    rare = np.flatnonzero(every.candidates.wanted)
    assert set(rare.tolist()) <= set(part.at.tolist())
    assert part.size < view.size / 4
    assert few.meaning.cosines == pytest.approx(every.meaning.cosines[part.at], abs=1e-6)


def test_filter_that_leaves_much_which_lies_far_away_looks_at_all(
    shelf: Shelf, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.recall.narrowing._FEW", 10)
    monkeypatch.setattr("memorist.recall.narrowing._SHARE", 1000)
    view = refreshed(shelf, library.store)
    query, vector = library.question()
    asked = asking(query, category="rare")
    found = looked_at_few(view, asked, vector)
    assert found.candidates.views[0] is view
    assert first(found) == first(looked_at_all(view, asked, vector))


def test_best_window_of_a_long_text_is_found_in_whichever_list_it_is(shelf: Shelf, library: Library) -> None:
    view = refreshed(shelf, library.store)
    for thread in range(0, THREADS, 70):
        memory_id = f"mem_{thread:04}_05"
        packed = library.store.rows[memory_id].vectors
        assert packed is not None
        steps, scales, _ = vectors.unpack([packed])
        for window in range(3):
            vector = _unit(steps[window] * scales[window])
            found = looked_at_few(view, asking("anything"), vector)
            place = found.candidates.ids.place_of(memory_id)
            assert place is not None
            assert found.meaning.windows[place] == window
            assert found.meaning.cosines[place] == pytest.approx(1, abs=0.01)


def test_what_came_since_is_found_and_what_went_is_not(shelf: Shelf, library: Library) -> None:
    _, vector = library.question()
    library.put("mem_0800_00", "s1", vector, "entirely unheard")
    assert "mem_0800_00" in first(looked_at_few(refreshed(shelf, library.store), asking("what else"), vector))
    other = _unit(-vector)
    library.put("mem_0800_00", "s1", other, "entirely unseen")
    assert "mem_0800_00" not in first(looked_at_few(refreshed(shelf, library.store), asking("what else"), vector))
    assert "mem_0800_00" in first(looked_at_few(refreshed(shelf, library.store), asking("what else"), other))
    assert "mem_0800_00" in first(looked_at_few(refreshed(shelf, library.store), asking("unseen"), None))
    library.put("mem_0800_00", "s1", other, "entirely unseen", standing=int(Standing.GONE))
    assert "mem_0800_00" not in first(looked_at_few(refreshed(shelf, library.store), asking("unseen"), other))
    saved_one = "mem_0003_01"
    library.put(saved_one, "s3", library.vectors[saved_one], "as it was", standing=int(Standing.GONE))
    asked = asking("as it was")
    assert saved_one not in first(looked_at_few(refreshed(shelf, library.store), asked, library.vectors[saved_one]))


def test_what_waits_for_its_vector_is_found_by_its_words(shelf: Shelf, library: Library) -> None:
    _, vector = library.question()
    library.put("mem_0801_00", "s2", vector, "a hippogriff", embedded=False)
    found = looked_at_few(refreshed(shelf, library.store), asking("hippogriff"), vector)
    assert "mem_0801_00" in first(found)
    assert found.candidates.waiting > 0
    # Where it has nothing to do with a question, this is told, too.
    found = looked_at_few(refreshed(shelf, library.store), asking(library.question()[0]), vector)
    assert "mem_0801_00" not in first(found)
    assert found.candidates.waiting > 0
    # As one does that lost its vector to another model.
    library.put("mem_0002_01", "s2", vector, "the second hippogriff")
    found = looked_at_few(refreshed(shelf, library.store), asking("hippogriff"), vector)
    assert {"mem_0801_00", "mem_0002_01"} <= set(first(found))


def test_without_a_vector_words_find_what_they_would_among_all(shelf: Shelf, library: Library) -> None:
    view = refreshed(shelf, library.store)
    for _ in range(10):
        asked = asking(library.question()[0])
        assert first(looked_at_few(view, asked, None), 3) == first(looked_at_all(view, asked, None), 3)


@pytest.mark.parametrize(
    "asked_for", [{"category": "rare"}, {"after": NOW - timedelta(days=50)}, {"category": "no such"}]
)
def test_filters_leave_what_words_alone_find_the_same(
    shelf: Shelf, library: Library, asked_for: dict[str, Any]
) -> None:
    view = refreshed(shelf, library.store)
    for _ in range(10):
        asked = asking(library.question()[0], **asked_for)
        assert first(looked_at_few(view, asked, None), 3) == first(looked_at_all(view, asked, None), 3)


def test_filter_leaves_as_many_as_are_wanted(shelf: Shelf, library: Library) -> None:
    view = refreshed(shelf, library.store)
    for days in range(30, 130, 5):
        query, vector = library.question()
        asked = asking(query, after=NOW - timedelta(days=days))
        found = scored(Opened([view], asked).narrowed(vector, FUSION, 204), vector, FUSION)
        assert found.first(204).size == 204


def test_one_that_is_asked_about_is_looked_at(shelf: Shelf, library: Library) -> None:
    view = refreshed(shelf, library.store)
    query, vector = library.question()
    part = looked_at_few(view, asking(query), vector).candidates.views[0]
    missing = next(view.ids[place] for place in range(view.size) if part.place_of(view.ids[place]) is None)
    found = looked_at_few(view, asking(query, why_not=missing), vector)
    place, on_shelf = found.candidates.ids.place_of(missing), view.place_of(missing)
    assert place is not None
    assert on_shelf is not None
    before, after = found.candidates.turns_around(place)
    every = looked_at_all(view, asking(query), vector).candidates
    expected = [every.ids[other] for other in every.turns_around(on_shelf) if other >= 0]
    assert [found.candidates.ids[other] for other in (before, after) if other >= 0] == expected


def test_lists_take_what_came_since_and_are_made_anew_once_there_is_twice_as_much(
    library: Library, tmp_path: Path
) -> None:
    shelf = Shelf("ada", MODEL)
    store = Rows()
    ids = sorted(library.store.rows)
    centres = []
    for number, share in enumerate((0.3, 0.5, 1.0)):
        for memory_id in ids[: int(share * len(ids))]:
            if memory_id not in store.rows:
                row = library.store.rows[memory_id]
                store.put(memory_id, library.store.texts[memory_id], **{"thread": row.thread, "vectors": row.vectors})
        refreshed(shelf, store)
        shelf = saved(shelf, tmp_path / str(number))
        view = refreshed(shelf, store)
        assert view.matrix.lists is not None
        assert view.matrix.lists.size == view.matrix.scales.size
        centres.append(view.matrix.lists.centres.made_of)
        shares = []
        for _ in range(15):
            query, vector = library.question()
            expected = first(looked_at_all(view, asking(query), vector))
            shares.append(len(set(expected) & set(first(looked_at_few(view, asking(query), vector)))) / len(expected))
        assert np.mean(shares) >= 0.98
    assert centres[0] == centres[1] < centres[2]


def test_a_word_that_many_have_is_looked_up_no_further_than_a_share_of_the_rows(shelf: Shelf, library: Library) -> None:
    lists = refreshed(shelf, library.store).postings
    assert isinstance(lists, PostingLists)
    sizes = {word: lists.how_many(words.hash_of(words.terms(word)[0])) for word in WORDS}
    frequent, rare = max(sizes, key=sizes.__getitem__), min(sizes, key=lambda word: sizes[word] or len(WORDS) ** 2)
    assert sizes[frequent] > 20 * sizes[rare] > 0
    terms = [words.hash_of(words.terms(word)[0]) for word in (frequent, rare)]
    both = likely([lists], terms, 0).places
    assert set(lists.containing(terms[1]).places.tolist()) <= set(both.tolist())
    assert both.size <= 600
    assert likely([lists], terms[:1], 0).places.size <= 600


def test_word_that_nobody_has_is_looked_up_where_no_terms_came_since_they_were_sorted(
    library: Library, tmp_path: Path
) -> None:
    made = Shelf("ada", MODEL)
    refreshed(made, library.store)
    shelf = saved(made, tmp_path / "file")
    shelf._postings.settle()
    view = refreshed(shelf, library.store)
    assert isinstance(view.postings, PostingLists)
    assert len(view.postings.runs) == 1
    query, vector = library.question()
    for asked in (asking("unheardof"), asking(f"{query} unheardof")):
        expected = first(looked_at_all(view, asked, vector))
        assert len(set(expected) & set(first(looked_at_few(view, asked, vector)))) >= 8


def test_lists_whose_vectors_are_all_gone_are_passed_over(library: Library, tmp_path: Path) -> None:
    store = Rows()
    for memory_id, row in library.store.rows.items():
        store.put(memory_id, library.store.texts[memory_id], thread=row.thread, vectors=row.vectors)
    made = Shelf("ada", MODEL)
    refreshed(made, store)
    shelf = saved(made, tmp_path / "first")
    view = refreshed(shelf, store)
    lists = view.matrix.lists
    assert lists is not None
    query, vector = library.question()
    order = np.argsort(-lists.centres.products(vector), kind="stable")
    in_list = np.searchsorted(lists.ends, np.arange(lists.size), side="right")
    nearest_and_farthest = np.isin(in_list, [*order[: -(-order.size // PROBED)], *order[-32:]])
    for place in np.unique(view.matrix.places[: lists.size][nearest_and_farthest]).tolist():
        memory_id = view.ids[place]
        store.put(memory_id, store.texts[memory_id], thread=store.rows[memory_id].thread, embedded=False)
    refreshed(shelf, store)
    view = refreshed(saved(shelf, tmp_path / "second"), store)
    assert view.is_large
    expected = first(looked_at_all(view, asking(query), vector))
    assert len(set(expected) & set(first(looked_at_few(view, asking(query), vector)))) >= 8


def test_rows_that_wait_again_are_known_once_and_in_their_order(tmp_path: Path) -> None:
    store, made = Rows(), Shelf("ada", MODEL)
    for number in range(1200):
        store.put(f"mem_{number:05}", [f"tea {number}"], embedded=number != 700)
    refreshed(made, store)
    shelf = saved(made, tmp_path / "file")
    for numbers in ((900, 300, 500), (100, 300)):
        for number in numbers:
            store.put(f"mem_{number:05}", [f"tea {number}"], embedded=False)
        view = refreshed(shelf, store)
        for number in numbers[1:]:
            store.put(f"mem_{number:05}", [f"tea {number}"])
        refreshed(shelf, store)
    assert view.without is not None
    assert view.without.tolist() == [100, 300, 500, 700, 900]
    assert refreshed(shelf, store).waiting().tolist() == [100, 700, 900]


def test_turns_around_one_that_was_edited_or_came_late_are_known(tmp_path: Path) -> None:
    store, made = Rows(), Shelf("ada", MODEL)
    for number in range(0, 2400, 2):
        store.put(f"mem_{number:05}", [f"tea {number}"], thread=f"s{number // 800}")
    refreshed(made, store)
    shelf = saved(made, tmp_path / "file")
    store.put("mem_00900", ["another river"], thread="s1")
    store.put("mem_00951", ["an owl"], thread="s1")
    store.put("mem_02403", ["an oak"], thread="s9")
    view = refreshed(shelf, store)
    assert view.turns is not None
    for memory_id, around in {
        "mem_00900": ["mem_00898", "mem_00902"],
        "mem_00951": ["mem_00950", "mem_00952"],
        "mem_00950": ["mem_00948", "mem_00951"],
        "mem_02403": [],
    }.items():
        places = np.array([view.place_of(memory_id)])
        found = view.turns.beside(view.columns["previous"], view.columns["thread"], places)
        assert [view.ids[place] for place in found.tolist()] == around


@pytest.mark.parametrize(("few", "agent"), [(10_000, None), (10_000, "another"), (0, None)])
def test_nearest_facts_are_those_that_a_comparison_with_all_finds(
    shelf: Shelf, library: Library, monkeypatch: pytest.MonkeyPatch, few: int, agent: str | None
) -> None:
    monkeypatch.setattr("memorist.recall.nearest._FEW", few)
    monkeypatch.setattr("memorist.recall.nearest._SHARE", 1_000_000)
    view, every = (refreshed(one, library.store) for one in (shelf, Shelf("ada", MODEL)))
    facts = [f"mem_{thread:04}_{turn:02}" for thread in range(5, THREADS, 23) for turn in (0, 1, 9)]
    memories = [Memory(one, "t", library.store.texts[one][0], "", "", NOW, NOW, Owner("ada", agent)) for one in facts]

    def near(view: View, memory: Memory) -> list[str]:
        return nearest(view, memory, NOW, lambda _: None, most=10, distance=0.7)

    expected = [near(every, memory) for memory in memories]
    assert max(map(len, expected)) == (10 if agent is None else 50)
    # None of them looks at all vectors.
    monkeypatch.setattr(MatrixView, "best", None)
    found = [near(view, memory) for memory in memories]
    shares = [len(set(one) & set(other)) / len(other) for one, other in zip(found, expected, strict=True) if other]
    assert np.mean(shares) >= 0.99
    assert sum(one[0] == other[0] for one, other in zip(found, expected, strict=True) if other) >= len(shares) - 1


def test_nearest_facts_of_an_agent_with_few_are_found_wherever_they_are(
    shelf: Shelf, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.recall.nearest._FEW", 0)
    monkeypatch.setattr("memorist.recall.nearest._SHARE", 1_000_000)
    _, vector = library.question()
    library.put("mem_0900_00", "s3", vector, "of another agent", agent="another")
    view, every = (refreshed(one, library.store) for one in (shelf, Shelf("ada", MODEL)))
    asked = Memory("mem_unknown", "t", "anything", "", "", NOW, NOW, Owner("ada", "another"))
    found, expected = (nearest(one, asked, NOW, lambda _: vector, most=10, distance=0.7) for one in (view, every))
    assert found == expected
    assert found[0] == "mem_0900_00"


def test_facts_that_came_late_and_lie_far_away_hide_none_that_lies_nearer(
    shelf: Shelf, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.recall.nearest._FEW", 0)
    monkeypatch.setattr("memorist.recall.nearest._SHARE", 1_000_000)
    monkeypatch.setattr("memorist.recall.index.lists.COMPARED", (8, 8))
    _, vector = library.question()
    for number in range(20):
        library.put(f"mem_{910 + number:04}_00", "s3", -vector, "the opposite", kind="fact")
    view, every = (refreshed(one, library.store) for one in (shelf, Shelf("ada", MODEL)))
    asked = Memory("mem_unknown", "t", "anything", "", "", NOW, NOW, Owner("ada", None))
    found, expected = (nearest(one, asked, NOW, lambda _: vector, most=10, distance=0.7) for one in (view, every))
    assert len(expected) >= 10, "those of other agents follow"
    assert found == expected
