"""The reranker reads as many candidates as it has time for, and the answer says how many."""

import random
import threading
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from memorist.core import Core
from memorist.memories.values import Draft
from memorist.platform.values import Principal, Role
from memorist.recall.fusion import FUSION, Extent
from memorist.recall.pool import Passages
from memorist.recall.reading import LEAST, Estimate, ReadingPace
from memorist.recall.values import Question
from memorist.surfaces.dashboard.pages.recall import _recall
from memorist.surfaces.dashboard.visits import Visit
from memorist.testing import make_memory
from tests.recall.conftest import OpenCore, ask, make_tenant
from tests.support.models import WordEmbedder, WordReranker

PASSAGES = [f"teapot number {number:02}" for number in range(20)]


class Timed(WordReranker):
    """Takes so long for each passage, by a clock of its own."""

    is_local = True

    def __init__(self, seconds_each: float) -> None:
        super().__init__()
        self.seconds_each = seconds_each
        self.seconds = 0.0

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        self.seconds += self.seconds_each * len(passages)
        return super().score(query, passages)

    def now(self) -> float:
        return self.seconds


@pytest.mark.parametrize(
    ("milliseconds_each", "read"),
    [(0.1, 20), (5, 20), (10, 10), (20, 5), (25, 4), (45, LEAST), (1000, LEAST)],
)
def test_slower_machine_reads_fewer_but_never_less_than_a_few(milliseconds_each: float, read: int) -> None:
    reranker = Timed(milliseconds_each / 1000)
    pace = ReadingPace(0.1000001, reranker.now)
    for _ in range(2):
        reranker.read.clear()
        assert len(pace.begin().read(reranker, "teapot", PASSAGES)) == read
        assert [one for batch in reranker.read for one in batch] == PASSAGES[:read]


def test_machine_that_becomes_busy_reads_fewer_and_more_again_when_it_is_not() -> None:
    reranker = Timed(0.005)
    pace = ReadingPace(0.1000001, reranker.now)
    assert len(pace.begin().read(reranker, "teapot", PASSAGES)) == 20
    reranker.seconds_each = 0.02
    busy = [len(pace.begin().read(reranker, "teapot", PASSAGES)) for _ in range(6)]
    assert busy[0] < 20
    assert busy[-1] in (4, 5)
    reranker.seconds_each = 0.005
    assert len([pace.begin().read(reranker, "teapot", PASSAGES) for _ in range(8)][-1]) >= 19


def test_one_pause_of_the_machine_is_soon_forgotten() -> None:
    reranker = Timed(0.004)
    pace = ReadingPace(0.1000001, reranker.now)
    pace.begin().read(reranker, "teapot", PASSAGES)
    reranker.seconds_each = 1000
    pace.begin().read(reranker, "teapot", PASSAGES)
    reranker.seconds_each = 0.004
    assert len([pace.begin().read(reranker, "teapot", PASSAGES) for _ in range(4)][-1]) == 20


def test_without_a_limit_and_by_another_s_model_all_are_read_at_once() -> None:
    slow = Timed(1)
    assert len(ReadingPace(0, slow.now).begin().read(slow, "teapot", PASSAGES)) == 20
    remote = WordReranker()
    assert len(ReadingPace(0.001).begin().read(remote, "teapot", PASSAGES)) == 20
    assert len(slow.read) == len(remote.read) == 1
    assert ReadingPace(0.1).begin().read(slow, "teapot", []) == []


def test_what_took_no_time_at_first_is_learned_later() -> None:
    estimate = Estimate()
    for seconds in (0.0, 0.5):
        estimate.learn(seconds)
    assert estimate.seconds == 0.5


def test_machine_whose_pace_differs_keeps_the_budget_nearly_always() -> None:
    rng = random.Random(7)
    reranker = Timed(0.01)
    pace = ReadingPace(0.1, reranker.now)
    took = []
    for _ in range(200):
        began = reranker.now()
        reranker.seconds_each = 0.01 * rng.uniform(0.7, 1.3)
        pace.begin().read(reranker, "teapot", PASSAGES)
        took.append(reranker.now() - began)
    assert sum(one > 0.1 for one in took) <= 10
    assert sum(took) / len(took) > 0.07


def test_what_a_recall_does_before_and_after_the_reading_is_taken_off_its_budget() -> None:
    reranker = Timed(0.005)
    pace = ReadingPace(0.1000001, reranker.now)
    read, took = [], []
    for _ in range(3):
        began = reranker.now()
        with pace.begin() as reading:
            reranker.seconds += 0.03
            read.append(len(reading.read(reranker, "teapot", PASSAGES)))
            reranker.seconds += 0.02
        took.append(reranker.now() - began)
    assert read == [14, 10, 10]
    assert took[1:] == pytest.approx([0.1, 0.1])


def test_what_was_done_beside_the_reading_does_not_count_as_what_follows() -> None:
    reranker = Timed(0.005)
    pace = ReadingPace(0.1000001, reranker.now)
    read = []
    for _ in range(6):
        with pace.begin() as reading:
            read.append(len(reading.read(reranker, "teapot", PASSAGES)))
            reranker.seconds += 0.05
            reading.needed()
            reranker.seconds += 0.02
    assert read == [20, *[16] * 5]
    # What is needed before it was read is waited for: all that follows counts.
    read.clear()
    for _ in range(3):
        with pace.begin("other") as reading:
            reading.needed()
            read.append(len(reading.read(reranker, "teapot", PASSAGES)))
            reranker.seconds += 0.05
    assert read == [20, 10, 10]


def test_what_follows_is_learned_apart_for_what_is_asked_for_something_else() -> None:
    reranker = Timed(0.005)
    pace = ReadingPace(0.1000001, reranker.now)
    read = []
    for what, rest_s in [("page", 0.05), ("", 0.0)] * 3:
        with pace.begin(what) as reading:
            read.append(len(reading.read(reranker, "teapot", PASSAGES)))
            reranker.seconds += rest_s
    assert read == [20, 20, 10, 20, 10, 20]


def test_what_fails_after_the_reading_teaches_nothing() -> None:
    reranker = Timed(0.005)
    pace = ReadingPace(0.1000001, reranker.now)

    def fail() -> None:
        with pace.begin() as reading:
            assert len(reading.read(reranker, "teapot", PASSAGES)) == 20
            reranker.seconds += 0.09
            raise KeyError

    for _ in range(3):
        with pytest.raises(KeyError):
            fail()


class Padded(Timed):
    """Takes as long for each passage as for the longest beside it, as the local one does."""

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        self.seconds += 0.001 * len(passages) * max(len(query) + len(one) for one in passages) / 3.5
        return WordReranker.score(self, query, passages)


def test_long_passage_among_short_ones_is_counted_as_what_it_costs() -> None:
    reranker = Padded(0)
    pace = ReadingPace(0.1, reranker.now)
    passages = ["teapot"] * 5 + ["teapot " * 12] + ["teapot"] * 14
    took = []
    for _ in range(20):
        began = reranker.now()
        pace.begin().read(reranker, "teapot", passages)
        took.append(reranker.now() - began)
    assert max(took) <= 0.1
    assert min(took) > 0.05


class Woken(Timed):
    """Takes so long for a batch by itself, too, as many threads do that are woken for it."""

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        self.seconds += 0.02
        return super().score(query, passages)


def test_what_a_batch_costs_by_itself_is_learned_and_paid_once() -> None:
    reranker = Woken(0.01)
    pace = ReadingPace(0.1000001, reranker.now)
    took = []
    for _ in range(40):
        reranker.read.clear()
        began = reranker.now()
        read = len(pace.begin().read(reranker, "teapot", PASSAGES))
        took.append(reranker.now() - began)
    assert max(took[1:]) <= 0.1000001
    # Seven at once take .09 s; two, two and one take as long as eight.
    assert (read, len(reranker.read)) == (7, 1)


class Convinced(Timed):
    """Says so much of the first, and less of each that follows."""

    def __init__(self, seconds_each: float, first: float) -> None:
        super().__init__(seconds_each)
        self.first = first

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        super().score(query, passages)
        return [self.first - PASSAGES.index(one) for one in passages]


@pytest.mark.parametrize(
    ("milliseconds_each", "first", "read"),
    [
        (5, FUSION.convincing, 5),  # There is time for five: these are read at first.
        (5, FUSION.convincing - 0.1, 20),
        (25, FUSION.convincing, LEAST),
        (25, FUSION.convincing - 0.1, 4),
        (1000, FUSION.convincing - 0.1, LEAST),
    ],
)
def test_slow_machine_stops_where_one_of_the_first_few_convinces(
    milliseconds_each: float, first: float, read: int
) -> None:
    reranker = Convinced(milliseconds_each / 1000, first)
    pace = ReadingPace(0.1000001, reranker.now)
    extent = Extent(5, 20, FUSION.convincing, FUSION.settled)
    pace.begin().read(reranker, "teapot", PASSAGES, extent)  # How long it takes is not known before.
    assert [len(pace.begin().read(reranker, "teapot", PASSAGES, extent)) for _ in range(3)] == [read] * 3


@pytest.mark.parametrize(
    ("first", "read"),
    [(FUSION.sure, LEAST), (FUSION.sure - 0.1, FUSION.settled), (FUSION.convincing - 0.1, len(PASSAGES))],
)
def test_two_are_enough_where_it_is_sure_of_one_of_them(first: float, read: int) -> None:
    reranker = Convinced(0.001, first)
    pace = ReadingPace(10, reranker.now)
    extent = Extent(FUSION.settled, len(PASSAGES), FUSION.convincing, FUSION.settled, FUSION.sure)
    pace.begin().read(reranker, "teapot", PASSAGES, extent)
    assert len(pace.begin().read(reranker, "teapot", PASSAGES, extent)) == read
    assert len(pace.begin().read(reranker, "teapot", PASSAGES[:1], extent)) == 1


def test_what_was_done_before_it_began_counts_too() -> None:
    reranker = Timed(0.005)
    pace = ReadingPace(0.1000001, reranker.now)
    assert [len(pace.begin("", ago_s).read(reranker, "teapot", PASSAGES)) for ago_s in (0, 0.05)] == [20, 10]


def test_what_is_loaded_once_is_not_taken_off_the_budget() -> None:
    reranker = Timed(0.005)
    pace = ReadingPace(0.1000001, reranker.now)
    reading = pace.begin()
    reranker.seconds += 10
    reading.wait()
    assert len(reading.read(reranker, "teapot", PASSAGES)) == 20


def all_are_worth_reading(core: Core) -> None:
    core.recall._fusion = replace(FUSION, settled=FUSION.pool, doubted=FUSION.pool)


def test_whole_recall_keeps_its_budget_once_all_is_loaded(open_with: OpenCore) -> None:
    reranker = Timed(0.01)

    def take_40_ms(_: Sequence[str]) -> None:
        reranker.seconds += 0.04

    core = open_with(WordEmbedder(before=take_40_ms), reranker, recall_budget_ms=100.001)
    core.recall._models._pace.timer = reranker.now
    all_are_worth_reading(core)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    core.memories.remember(ada, [Draft(f"teapot {number}") for number in range(20)])
    list(core.indexer.finish(ada.tenant))
    read, took = [], []
    for _ in range(3):
        began = reranker.now()
        read.append(ask(core, ada, "teapot", min_score=0).reranked)
        took.append(reranker.now() - began)
    assert read == [10, 6, 6]
    assert took == pytest.approx([0.14, 0.1, 0.1])


def ready_to_read(open_with: OpenCore, reranker: Timed) -> tuple[Core, Principal]:
    core = open_with(WordEmbedder(), reranker, recall_budget_ms=100.001)
    core.recall._models._pace.timer = reranker.now
    all_are_worth_reading(core)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    core.memories.remember(ada, [Draft(f"teapot {number}") for number in range(20)])
    list(core.indexer.finish(ada.tenant))
    ask(core, ada, "teapot")
    return core, ada


def test_who_does_more_than_to_compose_has_one_budget_for_all_of_it(open_with: OpenCore) -> None:
    reranker = Timed(0.01)
    core, ada = ready_to_read(open_with, reranker)
    read = []
    for _ in range(2):
        reranker.read.clear()
        with core.recall.begin("page") as reading:
            reranker.seconds += 0.04
            core.composer.lay_out(ada, "teapot", reading=reading)
            reranker.seconds += 0.02
        read.append(sum(map(len, reranker.read)))
    assert read == [6, 4]


def test_page_that_recalls_anew_since_nobody_knows_what_it_asks_about_reads_as_many(open_with: OpenCore) -> None:
    core, ada = ready_to_read(open_with, Timed(0.01))
    question = Question("teapot", why_not=make_memory("t").id)
    read = []
    for _ in range(3):
        with core.recall.begin("page") as reading:
            recalled, refusal = _recall(cast(Visit, SimpleNamespace(core=core)), ada, question, reading)
        assert refusal is not None
        read.append(recalled.reranked)
    assert read == [10, 10, 10]


class Waiting(Timed):
    """Reads once it may."""

    def __init__(self) -> None:
        super().__init__(0.01)
        self.may_read = threading.Event()
        self.may_read.set()
        self.reads = threading.Event()

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        self.reads.set()
        assert self.may_read.wait(60)
        return super().score(query, passages)


def test_what_is_known_is_looked_up_while_the_reranker_reads(
    open_with: OpenCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = Waiting()
    core, ada = ready_to_read(open_with, reranker)
    told = core.composer.compose(ada, "teapot")
    people = core.profiles.people

    def look_up(*args: Any, **kwargs: Any) -> Any:
        assert reranker.reads.wait(60)
        reranker.may_read.set()
        return people(*args, **kwargs)

    monkeypatch.setattr(core.profiles, "people", look_up)
    reranker.reads.clear()
    reranker.may_read.clear()
    assert core.composer.compose(ada, "teapot") == told


def test_what_is_looked_up_longer_than_the_reranker_reads_leaves_it_its_time(
    open_with: OpenCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = Timed(0.01)
    core, ada = ready_to_read(open_with, reranker)
    people, recall = core.profiles.people, core.recall.recall
    has_recalled = threading.Event()

    def look_up(*args: Any, **kwargs: Any) -> Any:
        assert has_recalled.wait(60)
        reranker.seconds += 0.05
        return people(*args, **kwargs)

    def recalled(*args: Any) -> Any:
        found = recall(*args)
        has_recalled.set()
        return found

    monkeypatch.setattr(core.profiles, "people", look_up)
    monkeypatch.setattr(core.recall, "recall", recalled)
    read = []
    for _ in range(5):
        reranker.read.clear()
        has_recalled.clear()
        core.composer.compose(ada, "teapot")
        read.append(sum(map(len, reranker.read)))
    assert read[1:] == [10] * 4


@pytest.fixture
def slow_core(open_with: OpenCore) -> Core:
    reranker = Timed(0.02)
    core = open_with(WordEmbedder(), reranker, recall_budget_ms=100.001)
    core.recall._models._pace.timer = reranker.now
    return core


def test_answer_says_how_many_were_read_and_brings_the_rest_behind_them(slow_core: Core) -> None:
    ada = Principal(make_tenant(slow_core), Role.USER, "ada")
    slow_core.memories.remember(ada, [Draft(f"teapot {number}") for number in range(12)])
    list(slow_core.indexer.finish(ada.tenant))
    for query in ("teapot 7", "teapot 8"):
        recalled = ask(slow_core, ada, query, top_k=12, explain=True, min_score=0)
    assert (recalled.rerank_used, recalled.reranked, len(recalled.hits)) == (True, 5, 12)
    said = [hit.explanation.get("reranker") for hit in recalled.hits if hit.explanation]
    assert [one["read"] for one in said if one] == [5] * 5
    assert said[5:] == [None] * 7
    assert recalled.hits[0].memory.content == "teapot 8"
    assert ask(slow_core, ada, "teapot 8", enable_rerank=False).reranked == 0


WITHOUT_TOKENS = FUSION.without_tokens()
"""These embedders say nothing of tokens."""


class Certain(WordReranker):
    """Says so much of what has all words of the question, and little of the rest."""

    is_local = True

    def __init__(self, most: float) -> None:
        super().__init__()
        self.most = most

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        scores = super().score(query, passages)
        return [
            self.most if "Delft" in passage else score - 10 for passage, score in zip(passages, scores, strict=True)
        ]


@pytest.mark.parametrize(
    ("most", "is_local", "budget_ms", "read"),
    [
        (WITHOUT_TOKENS.convincing, True, 60_000, WITHOUT_TOKENS.settled),
        (WITHOUT_TOKENS.convincing - 0.1, True, 60_000, WITHOUT_TOKENS.doubted),
        (WITHOUT_TOKENS.convincing, True, 0, WITHOUT_TOKENS.pool),
        (WITHOUT_TOKENS.convincing, False, 90, WITHOUT_TOKENS.asked_elsewhere),
    ],
)
def test_local_reranker_reads_no_more_once_it_is_convinced(
    open_with: OpenCore, most: float, is_local: bool, budget_ms: float, read: int
) -> None:
    reranker = Certain(most)
    reranker.is_local = is_local
    core = open_with(WordEmbedder(), reranker, recall_budget_ms=budget_ms)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    others = [Draft(f"teapot {n}") for n in range(FUSION.pool + 4)]
    core.memories.remember(ada, [Draft("The blue teapot is from Delft"), *others])
    list(core.indexer.finish(ada.tenant))
    asked = [ask(core, ada, "Where is the blue teapot from?", min_score=0) for _ in range(2)]
    assert [one.reranked for one in asked] == [read, read]
    assert asked[0].hits[0].memory.content == "The blue teapot is from Delft"


def test_candidate_is_written_out_when_it_is_read() -> None:
    written: list[int] = []

    def write(places: Sequence[int]) -> list[str]:
        written.extend(places)
        return [f"text {place}" for place in places]

    passages = Passages(write, [5, 7, 9])

    assert passages[:2] == ["text 5", "text 7"]
    assert passages[1] == "text 7"
    assert len(passages) == 3
    assert written == [5, 7]
    assert list(passages) == ["text 5", "text 7", "text 9"]
    assert written == [5, 7, 9]
