"""The local judge: what it tells apart, how certain it must be, and that no text upsets it. With the real model."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.facts.judges import (
    DOUBTS,
    MERGES,
    MERGES_ALONE,
    OF_ONE_MATTER,
    RETIRES,
    STRANGERS,
    AutoJudge,
    LocalJudge,
    ruling_of,
)
from memorist.facts.merging import has_another_word
from memorist.facts.plain.changes import change_of, says_several_things
from memorist.facts.plain.speaker import told_alike
from memorist.facts.plain.values import ValueChange
from memorist.facts.values import Ruling, Verdict
from memorist.memories.values import Memory
from memorist.models.comparer import LocalComparer
from memorist.models.embedder import LocalEmbedder
from memorist.models.values import RULINGS, DatedFact
from memorist.platform.values import Owner
from memorist_bench.judge import labelled_pairs, measure_judge
from tests.facts.judges import ScriptedJudge

PAIRS = labelled_pairs()
COMPARER = LocalComparer()
EMBEDDER = LocalEmbedder()
NOW = datetime(2026, 5, 20, tzinfo=UTC)


def fact(content: str) -> Memory:
    return Memory("mem_1", "t", content, "", "", NOW, NOW, Owner("ada"))


def judged(older: str, newer: str) -> Verdict:
    return LocalJudge(COMPARER, EMBEDDER).judge([(fact(newer), fact(older))])[0]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user lives in Porto.", "User moved to Vienna last week."),
        ("I live in Porto now.", "User moved to Vienna in May."),
        ("User lives in Porto now.", "The user lives in Graz now."),
        ("I live in Lisbon.", "The user moved to Porto."),
        ("My manager is Anna.", "User's manager is Bob now."),
        ("I’m called Eva and my name is Eva.", "The user's name is Ida."),
        ("The user works at Siemens.", "I work at Bosch now."),
    ],
)
def test_who_speaks_is_one_whatever_they_are_called(older: str, newer: str) -> None:
    named = [judged(*pair).ruling for pair in ((older, newer), told_alike(older, newer))]
    assert named[0] is named[1]
    assert named[0] in (Ruling.CONTRADICTS, Ruling.UNSURE)


@pytest.mark.parametrize(
    ("older", "newer", "is_change"),
    [
        ("User has two kids.", "User has three kids.", True),
        ("User owns 2 cars.", "User owns 3 cars.", True),
        ("The team has five members.", "The team has six members.", True),
        ("User has two dogs.", "User has three cats.", False),
        ("User has a meeting at 3.", "User has a meeting at 5.", False),
        ("User likes the two dogs.", "User likes the big dogs.", False),
    ],
)
def test_another_number_of_what_somebody_has_is_a_change(older: str, newer: str, *, is_change: bool) -> None:
    assert (judged(older, newer).ruling in (Ruling.CONTRADICTS, Ruling.UNSURE)) is is_change


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Porto now.", "User's name is Eva and they work at Bosch."),
        ("I like tea.", "The user likes jazz."),
        ("The user lives in Porto.", "Ada lives in Graz."),
        ("My sister lives in Porto.", "The user lives in Graz."),
    ],
)
def test_what_is_said_of_something_else_stays(older: str, newer: str) -> None:
    assert judged(older, newer).ruling is Ruling.UNRELATED


def test_the_same_said_of_oneself_and_of_the_user_is_one_fact() -> None:
    assert judged("I live in Porto.", "The user lives in Porto.").ruling is Ruling.SAME
    assert judged("User's dog is called Rex.", "My dog is called Rex.").ruling is Ruling.SAME


def test_only_two_facts_of_who_speaks_are_told_alike() -> None:
    assert told_alike("I’ve moved to Oslo", "The user's boss is Eva") == (
        "User has moved to Oslo",
        "User's boss is Eva",
    )
    for other in (
        "Ada lives in Rome.",
        "HR confirmed me today",
        "Ich wohne in Berlin.",
        "user: hi",
        "We use tabs.",
        "",
    ):
        assert told_alike("I live in Oslo", other) == ("I live in Oslo", other)


def test_labelled_set_is_large_varied_and_has_no_pair_twice() -> None:
    assert len(PAIRS) >= 320
    labels = Counter(pair.label for pair in PAIRS)
    assert labels[Ruling.CONTRADICTS] >= 100
    assert labels[Ruling.UNRELATED] >= 150
    assert labels[Ruling.SAME] >= 40
    assert len({pair.domain for pair in PAIRS}) >= 10
    assert len({(pair.old, pair.new) for pair in PAIRS}) == len(PAIRS)


def test_the_built_in_pairs_are_judged_no_worse_than_they_were() -> None:
    scores = measure_judge(PAIRS, COMPARER)["halves"]["both"]
    assert scores["precision"] >= 0.9
    assert scores["recall"] >= 0.55


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User lives in Berlin.", "User moved to Lisbon last month."),
        ("User is vegetarian.", "User eats meat again."),
        ("User works at the city library.", "User handed in the library keys and drives a tram now."),
        ("The API listens on port 8080.", "The API listens on port 9090."),
        ("Ada is married to Tom.", "Ada and Tom's divorce came through in March."),
        ("Deploys go out on Fridays.", "Never deploy on Fridays."),
    ],
)
def test_what_the_newer_fact_ends_is_retired_or_in_doubt(older: str, newer: str) -> None:
    assert judged(older, newer).ruling in (Ruling.CONTRADICTS, Ruling.UNSURE)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User lives in Berlin.", "User was born in Rome."),
        ("User likes tea.", "User likes coffee."),
        ("User works at the city library.", "User's brother works at a bank."),
        ("User is thinking of selling the car.", "User's car is a blue Mazda."),
        ("The gym closes at ten.", "User goes swimming on Mondays."),
        ("User works at the library.", "User is thinking about leaving the library."),
    ],
)
def test_what_can_both_be_true_is_not_retired(older: str, newer: str) -> None:
    assert judged(older, newer).ruling is not Ruling.CONTRADICTS


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User is Clara.", "User: Big news: I quit Nordlicht!"),
        ("User hates long texts.", "User: Big news: I quit Nordlicht!"),
        ("User's cat is called Miso.", "User: Turns out I'm not allergic to hazelnuts after all, it's walnuts."),
        ("User is pescatarian now.", "User: Turns out I'm not allergic to hazelnuts after all."),
    ],
)
def test_what_only_sounds_like_a_change_does_not_retire_another_matter(older: str, newer: str) -> None:
    assert judged(older, newer).ruling in (Ruling.UNRELATED, Ruling.UNSURE)
    assert LocalJudge(COMPARER).judge([(fact(newer), fact(older))])[0].ruling is Ruling.CONTRADICTS


@pytest.mark.parametrize(
    ("older", "newer", "ruling"),
    [
        ("User does not eat meat or fish.", "User is a vegetarian.", Ruling.SAME),
        ("User is afraid of flying.", "Getting on a plane scares User.", Ruling.SAME),
        ("User has a dog.", "User has a three-year-old dog called Rex.", Ruling.REFINES),
    ],
)
def test_what_is_said_again_is_merged(older: str, newer: str, ruling: Ruling) -> None:
    assert judged(older, newer).ruling is ruling


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User's grandmother died in 2019.", "User's grandfather died in 2019."),
        ("User's oldest son is 12.", "User's youngest son is 12."),
        ("User sold a car in 2020.", "User bought a car in 2020."),
        ("User owns a house in Porto.", "User rents out a house in Porto."),
        ("User arrived in Kiel on 3 May 2026.", "User left Kiel on 3 May 2026."),
        ("User borrowed 500 euros from Tom.", "User lent 500 euros to Tom."),
        ("User's sister is older than their brother.", "User's brother is older than their sister."),
        (
            "User's deadline is next Monday (23 November 2026).",
            "User: Next Monday (23 November 2026) we get our new puppy.",
        ),
        (
            "User's anniversary is next Friday (20 November 2026).",
            "User: The day after tomorrow (20 November 2026) I'm picking up my new car.",
        ),
    ],
)
def test_what_only_sounds_the_same_is_not_merged(older: str, newer: str) -> None:
    assert judged(older, newer).ruling is Ruling.UNRELATED


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User moved to Rome in 2019.", "In 2019 User moved to Rome."),
        ("User is a teacher.", "User works as a teacher."),
        ("User has a cat.", "User has cats."),
        ("User owns a bike.", "User has a bicycle."),
        ("User lives in Rome.", "User resides in Rome."),
        ("User loves pizza.", "User really likes pizza."),
        ("User studies Spanish.", "User is studying Spanish."),
        ("User is learning Spanish.", "User studies Spanish."),
        ("User went to Rome (13 May 2025).", "User visited Rome (13 May 2025)."),
        ("Ich bin Lehrer.", "Ich arbeite als Lehrer."),
        ("Ada habite à Rome.", "Ada vit à Rome."),
    ],
)
def test_what_is_told_in_other_words_may_be_the_same(older: str, newer: str) -> None:
    assert not has_another_word(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User loves their mother.", "User likes their father."),
        ("User flew to Rome on Monday.", "User flew from Rome on Monday."),
        ("User's son lost a hat.", "User's daughter lost a hat."),
        ("User lost a hat in Kiel.", "User lost a coat in Kiel."),
        ("We met Tom. " * 60 + "User hired Bob.", "We met Tom. " * 60 + "User fired Bob."),
    ],
)
def test_word_that_is_another_is_told_from_one_that_means_the_same(older: str, newer: str) -> None:
    assert has_another_word(older, newer)


def test_long_facts_that_differ_throughout_are_not_aligned() -> None:
    letters = "abcdefgh"
    older = " ".join(letters[at % 8] for at in range(990))
    newer = " ".join(letters[at * at % 7] for at in range(990))
    assert not has_another_word(older, newer)


@pytest.mark.parametrize(
    ("likely", "ruling"),
    [
        ({"contradicts": RETIRES}, Ruling.CONTRADICTS),
        ({"contradicts": RETIRES - 0.01}, Ruling.UNSURE),
        ({"contradicts": DOUBTS}, Ruling.UNSURE),
        ({"contradicts": DOUBTS - 0.01, "same": MERGES[Ruling.SAME]}, Ruling.SAME),
        ({"same": 0.4, "refines": MERGES[Ruling.REFINES]}, Ruling.REFINES),
        ({"same": MERGES[Ruling.SAME] - 0.01, "compatible": 0.4}, Ruling.UNRELATED),
        ({"refines": MERGES[Ruling.REFINES] - 0.01, "compatible": 0.5}, Ruling.UNRELATED),
    ],
)
def test_how_certain_it_must_be(likely: dict[str, float], ruling: Ruling) -> None:
    assert ruling_of({**dict.fromkeys(RULINGS, 0.0), **likely}).ruling is ruling


@pytest.mark.parametrize(
    ("certain", "apart", "ruling"),
    [
        (RETIRES, OF_ONE_MATTER, Ruling.CONTRADICTS),
        (RETIRES, STRANGERS, Ruling.UNSURE),
        (DOUBTS, OF_ONE_MATTER, Ruling.UNSURE),
        (DOUBTS, STRANGERS, Ruling.UNRELATED),
        (RETIRES, STRANGERS + 0.01, Ruling.UNRELATED),
    ],
)
def test_how_near_two_facts_must_be(certain: float, apart: float, ruling: Ruling) -> None:
    likely = {**dict.fromkeys(RULINGS, 0.0), "contradicts": certain}
    assert ruling_of(likely, apart=apart).ruling is ruling
    assert ruling_of(likely, ValueChange.ANOTHER, apart=apart).ruling is Ruling.CONTRADICTS


@pytest.mark.parametrize(
    ("older", "newer", "change"),
    [
        ("User lives in Rome.", "User lives in Oslo.", ValueChange.ANOTHER),
        ("User lives in Berlin.", "User moved to Lisbon last month.", ValueChange.ANOTHER),
        ("User lives in Berlin.", "User now lives in Berlin-Moabit, by the river.", None),
        ("User lives in Berlin.", "User was born in Rome.", None),
        ("User lives in Berlin.", "User's brother lives in Rome.", None),
        ("The API listens on port 8080.", "The API listens on port 9090 now.", ValueChange.ANOTHER),
        ("The user's name is Sam.", "The user's name is Alex.", ValueChange.ANOTHER),
        ("User works at Acme as a nurse.", "User works at Globex as a nurse.", ValueChange.ANOTHER),
        ("Ben works at Bosch.", "Ana works at Bosch.", None),
        ("Ada's favourite film is Alien.", "Ada's favourite film is Solaris.", ValueChange.ANOTHER),
        ("Ada's favourite film is Alien.", "Ada's favourite book is Solaris.", None),
        ("User likes dish number 1.", "User likes dish number 2.", ValueChange.ONE_OF_MANY),
        ("User speaks Arabic.", "User speaks Turkish.", ValueChange.ONE_OF_MANY),
        ("User visited Rome in 2020.", "User visited Rome in 2022.", ValueChange.ONE_OF_MANY),
        ("User has a dog.", "User has a three-year-old dog called Rex.", None),
        ("The rent is 1,200 euros a month.", "The rent is 1200 euros per month.", None),
        ("The build is red.", "The build is green.", None),
        ("", "", None),
    ],
)
def test_another_value_of_the_same_thing_is_known_by_its_words(
    older: str, newer: str, change: ValueChange | None
) -> None:
    assert change_of(older, newer) is change


def test_the_same_words_say_the_same() -> None:
    assert judged("The user prefers dark mode.", "User prefers dark mode").ruling is Ruling.SAME


def test_a_fact_of_several_claims_is_not_retired_because_of_one() -> None:
    verdict = judged("User works at Siemens and plays the cello.", "User no longer works at Siemens.")
    assert (verdict.ruling, verdict.reason) == (Ruling.UNSURE, "A part of it may have changed.")
    assert says_several_things("User has a dog. It is called Rex.")
    assert says_several_things("User is vegetarian and allergic to hazelnuts.")
    assert says_several_things("User's brother is a baker and he eats meat.")
    assert not says_several_things("User has a dog and a cat.")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User lives in Oslo with their two cats, Miso and Bean.", "User moved to Bergen."),
        ("User lives in Porto with two cats.", "One of the user's cats died."),
        ("User's rent is 950 a month, they earn 2800.", "User's rent is 1050 a month."),
        ("User's father lives in Galway, he keeps bees.", "User's father moved to Athlone."),
        ("User takes sertraline 50mg and the pill.", "User came off the pill."),
        ("User has a dog and a cat.", "User's dog died last week."),
    ],
)
def test_what_is_told_beside_what_changed_is_not_lost(older: str, newer: str) -> None:
    verdict = judged(older, newer)
    assert (verdict.ruling, verdict.reason) == (Ruling.UNSURE, "A part of it may have changed.")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User drives a 2012 Golf.", "User sold the Golf."),
        ("User lives with Marco in Turin.", "User broke up with Marco."),
        ("User's rent is 950 a month.", "User's rent is 1050 a month."),
        ("User has 5k in savings and 12k of student debt.", "User paid off the student debt, savings are down to 500."),
    ],
)
def test_what_changed_as_a_whole_is_retired(older: str, newer: str) -> None:
    assert judged(older, newer).ruling is Ruling.CONTRADICTS


def test_only_what_the_local_judge_is_unsure_of_is_asked_of_the_other() -> None:
    class Unsure:
        is_local = True
        name = "local"

        def judge(self, pairs: Sequence[tuple[Memory, Memory]]) -> list[Verdict]:
            certain = {"sure": 1.0, "hardly": MERGES_ALONE - 0.01}
            unsure = Verdict(Ruling.UNSURE, "")
            return [
                Verdict(Ruling.SAME, "", certain[new.content]) if new.content in certain else unsure for new, _ in pairs
            ]

    asked = ScriptedJudge(lambda *_: Ruling.CONTRADICTS, is_local=False)
    judge = AutoJudge(Unsure(), asked)
    pairs = [(fact("sure"), fact("a")), (fact("maybe"), fact("b")), (fact("hardly"), fact("c"))]
    assert [one.ruling for one in judge.judge(pairs)] == [Ruling.SAME, Ruling.CONTRADICTS, Ruling.CONTRADICTS]
    assert asked.asked == [("maybe", "b"), ("hardly", "c")]
    assert not judge.is_local
    assert judge.name == "local, scripted"


def test_merge_that_one_word_speaks_against_is_asked_about_and_stays_refused_alone() -> None:
    pairs = [
        (fact("User owns a Tesla."), fact("User drives a Tesla.")),
        (fact("User's grandfather died in 2019."), fact("User's grandmother died in 2019.")),
        (fact("User was born in Rome."), fact("User likes tea.")),
    ]
    asked = ScriptedJudge(lambda new, _: Ruling.SAME if "Tesla" in new else Ruling.UNRELATED, is_local=False)
    local = LocalJudge(COMPARER, EMBEDDER)
    assert [one.ruling for one in local.judge(pairs)] == [Ruling.UNRELATED] * 3
    assert [one.ruling for one in AutoJudge(local, asked).judge(pairs)] == [Ruling.SAME, *[Ruling.UNRELATED] * 2]
    assert asked.asked == [(new.content, old.content) for new, old in pairs[:2]]


def test_the_dates_of_facts_are_read_with_them() -> None:
    dated = replace(fact("x"), event_time=NOW)
    shown = DatedFact(dated.content, "2026-05-20").shown()
    assert shown == "[2026-05] x"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=300), min_size=1, max_size=4))
def test_any_texts_are_judged(texts: list[str]) -> None:
    verdicts = LocalJudge(COMPARER, EMBEDDER).judge([(fact(text or "x"), fact(texts[0] or "y")) for text in texts])
    assert len(verdicts) == len(texts)
    assert all(0 <= verdict.confidence <= 1 for verdict in verdicts)


def test_a_very_long_fact_is_read_as_far_as_it_goes() -> None:
    assert judged("User lives in Rome. " * 5000, "User likes tea.").ruling in set(Ruling)
