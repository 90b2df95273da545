"""The local judge: what it tells apart, how well, and that no text upsets it."""

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.facts.judging import judge, likeness
from memorist.facts.values import Ruling
from memorist_bench.judge import labelled_pairs, measure_judge

PAIRS = labelled_pairs()


def test_labelled_set_is_large_varied_and_has_no_pair_twice() -> None:
    assert len(PAIRS) >= 320
    labels = Counter(pair.label for pair in PAIRS)
    assert labels[Ruling.CONTRADICTS] >= 100
    assert labels[Ruling.UNRELATED] >= 150
    assert labels[Ruling.SAME] >= 40
    assert len({pair.domain for pair in PAIRS}) >= 10
    assert len({(pair.old, pair.new) for pair in PAIRS}) == len(PAIRS)
    assert {pair.half for pair in PAIRS} == {"tune", "held"}


@pytest.mark.parametrize("half", ["tune", "held", "both"])
def test_judge_holds_its_targets(half: str) -> None:
    scores = measure_judge(PAIRS)["halves"][half]
    assert scores["precision"] >= 0.97
    assert scores["recall"] >= 0.60


def test_measuring_counts_what_is_wrong() -> None:
    """With every label turned round, the same rulings are as wrong as they can be."""
    turned = [
        type(pair)(
            pair.half,
            pair.domain,
            pair.old,
            pair.new,
            Ruling.UNRELATED if pair.label is Ruling.CONTRADICTS else Ruling.CONTRADICTS,
        )
        for pair in PAIRS
    ]
    result = measure_judge(turned)
    assert result["halves"]["both"]["precision"] < 0.05
    assert len(result["false_alarms"]) > 100


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user lives in Berlin.", "The user moved to Lisbon."),
        ("The project uses PostgreSQL.", "The project switched from PostgreSQL to MySQL."),
        ("The user eats meat.", "The user no longer eats meat."),
        ("The API listens on port 8080.", "The API listens on port 9090."),
        ("The report is due on March 15.", "The report is due on March 22."),
        ("I work for Shell.", "I work for Equinor now."),
        ("The user works at IBM.", "The user used to work at IBM."),
        ("The user likes coriander.", "The user does not like coriander."),
        ("The user does not like coriander.", "The user likes coriander."),
        ("The user's favourite colour is blue.", "The user's favourite colour is rose."),
        ("The user's favourite colour is rose.", "The user's favourite colour is blue."),
    ],
)
def test_contradiction_is_told(old: str, new: str) -> None:
    verdict = judge(new, old)
    assert verdict.ruling is Ruling.CONTRADICTS
    assert verdict.reason
    assert 0.5 < verdict.confidence <= 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user likes sushi.", "The user likes ramen."),
        ("The user lives in Berlin.", "The user's sister lives in Hamburg."),
        ("The user plans to move to Lisbon.", "The user lives in Berlin."),
        ("The user lives in Germany.", "The user lives in Munich."),
        ("The user used to work at IBM.", "The user works at Bosch."),
        ("The flight to Oslo leaves at 7:45.", "The flight to Madrid leaves at 9:10."),
        ("The user ran 5 km on Monday.", "The user ran 8 km on Thursday."),
        ("Project Falcon targets Python 3.10.", "Project Heron targets Python 3.12."),
        ("The user also works at Acme.", "The user also works at Globex."),
    ],
)
def test_compatible_facts_are_no_contradiction(old: str, new: str) -> None:
    assert judge(new, old).ruling in (Ruling.UNRELATED, Ruling.SAME)
    assert judge(old, new).ruling is not Ruling.CONTRADICTS


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Ben works at Siemens.", "Ben works at Bosch.", 2),
        ("The user moved to Lisbon.", "The user lives in Berlin.", 2),
        ("Ben works at Siemens.", "Ben likes plum cake.", 1),
        ("Ben works at Siemens.", "Ana works at Siemens.", 0),
        ("Ben arbeitet bei Siemens.", "Bei Bosch arbeitet Ben.", 0),
        ("Ben works at Siemens.", "Ben works at Bosch. " * 40, 0),
    ],
)
def test_likeness_is_of_subject_and_relation(one: str, other: str, expected: int) -> None:
    assert likeness(one, other) == likeness(other, one) == expected


def test_part_of_a_fact_that_changed_does_not_retire_the_rest() -> None:
    old = "The user lives in Berlin and works at Siemens."
    assert judge("The user lives in Lisbon.", old).ruling is Ruling.UNSURE


@given(st.text(max_size=300), st.text(max_size=300))
@settings(max_examples=150)
def test_no_text_upsets_the_judge(new: str, old: str) -> None:
    assert judge(new, old).ruling in Ruling


_VOCABULARY = (
    "user 's lives works in at no longer not from to instead of is was has stopped now and 5 Berlin Monday 10:00 port "
    "prefers over moved the a used every never two , . ; but"
)
_WORDS = st.lists(st.sampled_from(_VOCABULARY.split(" ")), max_size=25).map(" ".join)


@given(_WORDS, _WORDS)
@settings(max_examples=200)
def test_no_sentence_of_its_own_words_upsets_the_judge(new: str, old: str) -> None:
    assert judge(new, old).ruling in Ruling


@given(st.sampled_from(PAIRS))
def test_no_text_contradicts_itself(pair: object) -> None:
    for text in (pair.old, pair.new):  # type: ignore[attr-defined]
        assert judge(text, text).ruling in (Ruling.SAME, Ruling.UNRELATED)


def test_judging_takes_no_time() -> None:
    long = "The user lives in Berlin and " * 13
    before = time.perf_counter()
    for _ in range(20):
        judge(long, long)
        judge("a'" * 190, "not " * 90)
    assert time.perf_counter() - before < 2
