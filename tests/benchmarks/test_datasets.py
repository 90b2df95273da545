"""Benchmark files in three formats become the same cases."""

import json
from collections import Counter
from pathlib import Path

import pytest

from memorist.errors import Invalid
from memorist_bench.datasets import LANGUAGES, of_language, pooled, read_benchmark, with_fewer_questions


def test_the_normalized_format(files: dict[str, Path]) -> None:
    benchmark = read_benchmark(files["normalized"])
    assert benchmark.name == "tiny"
    first, second = benchmark.cases
    assert [message.id for message in first.messages] == ["1:0", "1:1", "1:2", "1:3", "2:0", "2:1"]
    assert (first.messages[0].speaker, first.messages[0].role) == ("Lena", "user")
    assert first.messages[0].time is not None
    assert first.messages[0].time.isoformat() == "2024-02-01T18:00:00+00:00"
    assert [question.id for question in first.questions] == ["q0", "q1", "q2"]
    assert first.questions[2].evidence == {"1:2", "1:3"}
    assert second.messages[0].time is None


def test_locomo(files: dict[str, Path]) -> None:
    benchmark = read_benchmark(files["locomo10"])
    assert benchmark.name == "locomo10"
    (case,) = benchmark.cases
    assert [message.id for message in case.messages] == ["D1:1", "D1:2", "D1:3", "D1:4", "D1:5", "D2:1", "D2:2"]
    assert case.messages[4].text == "Look! [shared image: a cracked cello]"
    assert [message.session for message in case.messages] == ["1"] * 5 + ["2"] * 2
    assert case.messages[5].time is not None
    assert case.messages[5].time.isoformat() == "2024-02-08T18:05:00+00:00"
    asked = [(question.category, question.evidence) for question in case.questions]
    assert asked == [("single-hop", {"D1:1"}), ("multi-hop", {"D1:3", "D1:4"})]


def test_longmemeval_at_the_level_of_sessions(files: dict[str, Path]) -> None:
    (case,) = read_benchmark(files["longmemeval_s"]).cases
    assert [message.id for message in case.messages] == ["s-1", "s-2"]
    assert case.messages[0].text == "The rehearsal moved to the church hall.\nIt is on Thursday."
    assert case.messages[1].time is not None
    assert case.messages[1].time.isoformat() == "2024-02-08T18:05:00+00:00"
    (question,) = case.questions
    assert (question.category, question.evidence) == ("single-session-user", {"s-1"})


def test_fewer_questions_leave_out_the_cases_that_nobody_asks_about(files: dict[str, Path]) -> None:
    benchmark = read_benchmark(files["normalized"])
    fewer = with_fewer_questions(benchmark, 2)
    assert [[question.id for question in case.questions] for case in fewer.cases] == [["q0", "q2"]]
    assert with_fewer_questions(benchmark, 4) is benchmark


def test_pooled_conversations_are_one_case_that_keeps_its_evidence_apart(files: dict[str, Path]) -> None:
    cases = read_benchmark(files["normalized"]).cases
    (case,) = pooled(read_benchmark(files["normalized"])).cases
    texts = {message.id: message.text for message in case.messages}
    assert list(texts.values()) == [message.text for one in cases for message in one.messages]
    assert len({message.session for message in case.messages}) == sum(
        len({message.session for message in one.messages}) for one in cases
    )
    assert [{texts[number] for number in question.evidence} for question in case.questions] == [
        {message.text for message in one.messages if message.id in question.evidence}
        for one in cases
        for question in one.questions
    ]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", "[1]", '{"cases": [{}]}', '[{"haystack_sessions": []}]', '[{"conversation": {}, "qa": 3}]'],
)
def test_what_is_no_benchmark_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(Invalid, match=r"x\.json"):
        read_benchmark(path)
    with pytest.raises(Invalid, match="cannot be read"):
        read_benchmark(tmp_path / "none.json")


def test_a_message_that_is_no_text_is_refused(tmp_path: Path, files: dict[str, Path]) -> None:
    broken = json.loads(files["normalized"].read_text())
    broken["cases"][0]["messages"][0]["time"] = "yesterday"
    path = tmp_path / "x.json"
    path.write_text(json.dumps(broken))
    with pytest.raises(Invalid, match="ValueError"):
        read_benchmark(path)


# Our own conversations in several languages


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_same_is_said_and_asked_in_every_language(code: str) -> None:
    english, found = of_language("en"), of_language(code)
    assert found.name == f"languages-{code}"
    assert len(found.cases) == 6
    for case, same in zip(found.cases, english.cases, strict=True):
        assert [(one.id, one.session, one.role, one.time) for one in case.messages] == [
            (one.id, one.session, one.role, one.time) for one in same.messages
        ]
        assert [(one.id, one.category, one.evidence) for one in case.questions] == [
            (one.id, one.category, one.evidence) for one in same.questions
        ]
    texts = [one.text for case in found.cases for one in (*case.messages, *case.questions)]
    assert len(texts) == 768 + 300
    assert all(text.strip() for text in texts)
    assert Counter(one.category for case in found.cases for one in case.questions) == {"same": 210, "cross": 90}
