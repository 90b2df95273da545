"""Benchmark files, each in its own format, as cases: messages to store, and questions with their evidence among them.

Three formats are told apart by their content: the normalized one (`{"name", "cases": […]}`), LoCoMo's own and
LongMemEval's own. Sets of our own, the same conversations in seven languages, come with the package.
"""

import json
import lzma
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memorist.errors import Invalid
from memorist.times import from_iso


@dataclass(frozen=True, slots=True)
class BenchmarkMessage:
    id: str
    session: str
    text: str
    role: str
    speaker: str | None
    time: datetime | None


@dataclass(frozen=True, slots=True)
class BenchmarkQuestion:
    id: str
    text: str
    category: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Case:
    """One person's conversations, and what is asked about them."""

    id: str
    messages: Sequence[BenchmarkMessage]
    questions: Sequence[BenchmarkQuestion]


@dataclass(frozen=True, slots=True)
class Benchmark:
    name: str
    cases: Sequence[Case]


def read_benchmark(path: Path) -> Benchmark:
    """The cases of a file; questions without evidence are left out. Raises Invalid where it is no benchmark."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", field="file") from error
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{path} is not JSON: {error}.", field="file") from error
    try:
        return _benchmark(path, content)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Invalid(
            f"{path} is not what its format promises: {type(error).__name__}: {error}.", field="file"
        ) from error


LANGUAGES = ("en", "de", "es", "fr", "zh", "ja", "ru")


def of_language(code: str) -> Benchmark:
    """Our own conversations in one of LANGUAGES, said and asked the same in each. A question is of the category `same`
    or, in English about another language and in others about English, `cross`.
    """
    path = Path(__file__).parent / "languages" / f"{code}.json.xz"
    return _benchmark(path, json.loads(lzma.decompress(path.read_bytes())))


def with_fewer_questions(benchmark: Benchmark, limit: int) -> Benchmark:
    """At most so many questions, spread evenly over the file; cases that are no longer asked about are left out."""
    total = sum(len(case.questions) for case in benchmark.cases)
    if limit >= total:
        return benchmark
    chosen = {index * total // limit for index in range(limit)}
    cases = []
    number = 0
    for case in benchmark.cases:
        kept = [question for index, question in enumerate(case.questions, start=number) if index in chosen]
        number += len(case.questions)
        if kept:
            cases.append(Case(case.id, case.messages, kept))
    return Benchmark(benchmark.name, cases)


def pooled(benchmark: Benchmark) -> Benchmark:
    """All cases as one person's: each question is asked of all that was said in any of them."""
    messages: list[BenchmarkMessage] = []
    questions: list[BenchmarkQuestion] = []
    for case in benchmark.cases:
        messages += [
            replace(message, id=f"{case.id}/{message.id}", session=f"{case.id}/{message.session}")
            for message in case.messages
        ]
        questions += [
            replace(
                question,
                id=f"{case.id}/{question.id}",
                evidence=frozenset(f"{case.id}/{number}" for number in question.evidence),
            )
            for question in case.questions
        ]
    return Benchmark(f"{benchmark.name}, pooled", [Case("pooled", messages, questions)])


def _benchmark(path: Path, content: Any) -> Benchmark:
    if isinstance(content, dict) and isinstance(content.get("cases"), list):
        name = str(content.get("name") or path.stem)
        return Benchmark(name, [_normalized_case(case) for case in content["cases"]])
    if isinstance(content, list) and content and isinstance(content[0], dict):
        if "conversation" in content[0] and "qa" in content[0]:
            return Benchmark(path.stem, [_locomo_case(sample) for sample in content])
        if "haystack_sessions" in content[0]:
            return Benchmark(path.stem, [_longmemeval_case(sample) for sample in content])
    raise Invalid(
        f"{path} is no benchmark that is known here: neither the normalized format nor LoCoMo's nor LongMemEval's.",
        field="file",
    )


# The normalized format


def _normalized_case(case: Mapping[str, Any]) -> Case:
    messages = [
        BenchmarkMessage(
            id=str(message["id"]),
            session=str(message["session"]),
            text=message["text"],
            role=message.get("role") or "user",
            speaker=message.get("speaker"),
            time=from_iso(message["time"]) if message.get("time") else None,
        )
        for message in case["messages"]
    ]
    questions = [
        _question(question["id"], question["text"], question.get("category"), question["evidence"], messages)
        for question in case["questions"]
    ]
    return Case(str(case["id"]), messages, list(filter(None, questions)))


def _question(
    id_: Any, text: str, category: Any, evidence: Sequence[Any], messages: Sequence[BenchmarkMessage]
) -> BenchmarkQuestion | None:
    known = {message.id for message in messages}
    found = frozenset(str(one) for one in evidence) & known
    return BenchmarkQuestion(str(id_), text, str(category or "all"), found) if found else None


# LoCoMo: turns of two speakers

_LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_LOCOMO_SESSION = re.compile(r"session_(\d+)")
_LOCOMO_TURN = re.compile(r"D:?(\d+):(\d+)")


def _locomo_case(sample: Mapping[str, Any]) -> Case:
    messages = list(_locomo_messages(sample["conversation"]))
    case_id = str(sample.get("sample_id") or "case")
    questions = [
        _question(
            f"{case_id}:q{number}",
            entry["question"],
            _LOCOMO_CATEGORIES.get(entry.get("category"), entry.get("category")),
            # Some entries name several turns in one text, or write `D:1:2` for `D1:2`.
            [f"D{int(session)}:{int(turn)}" for session, turn in _LOCOMO_TURN.findall(" ".join(entry["evidence"]))],
            messages,
        )
        for number, entry in enumerate(sample["qa"])
    ]
    return Case(case_id, messages, list(filter(None, questions)))


def _locomo_messages(conversation: Mapping[str, Any]) -> Iterator[BenchmarkMessage]:
    numbers = sorted(int(found[1]) for name in conversation if (found := _LOCOMO_SESSION.fullmatch(name)))
    for number in numbers:
        written = conversation.get(f"session_{number}_date_time")
        moment = _date(written, "%I:%M %p on %d %B, %Y") if written else None
        for turn in conversation[f"session_{number}"]:
            caption = turn.get("blip_caption")
            text = " ".join(filter(None, [turn.get("text"), f"[shared image: {caption}]" if caption else ""]))
            yield BenchmarkMessage(turn["dia_id"], str(number), text, "user", turn["speaker"], moment)


# LongMemEval: a message is what the user said in a session


def _longmemeval_case(sample: Mapping[str, Any]) -> Case:
    sessions = zip(sample["haystack_session_ids"], sample["haystack_dates"], sample["haystack_sessions"], strict=True)
    messages = [
        BenchmarkMessage(
            id=session_id,
            session=session_id,
            text="\n".join(turn["content"] for turn in turns if turn["role"] == "user"),
            role="user",
            speaker="user",
            time=_date(re.sub(r"\s*\(\w+\)", "", date), "%Y/%m/%d %H:%M"),
        )
        for session_id, date, turns in sessions
    ]
    question = _question(
        sample["question_id"], sample["question"], sample.get("question_type"), sample["answer_session_ids"], messages
    )
    return Case(str(sample["question_id"]), messages, [question] if question else [])


def _date(text: str, pattern: str) -> datetime:
    return from_iso(datetime.strptime(text.strip(), pattern).isoformat())
