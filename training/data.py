"""Reads the training conversations and the benchmark files into one shape."""

import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memorist.models.passages import embedding_passage, reranking_passage, spoken_date, turn, windows

SOURCE_WEIGHTS = {
    "squad": 0.7,
    "iirc": 0.8,
    "boolq": 0.7,
    "qasper": 1.0,
    "cosmos": 1.2,
    "synth": 1.5,
    "cat": 1.5,
    "pref": 1.0,
    "realmem": 2.0,
    "qmsum": 3.0,
    "madial": 3.0,
    "dialogue": 0.65,
    "sessions": 0.65,
    "talk": 6.0,
    "apart": 6.0,
}
"""How often a question of each source is drawn: dialogue counts more than encyclopedia."""

FORMS = ("bare", "embedded", "reranked")


@dataclass(frozen=True, slots=True)
class Message:
    speaker: str
    date: str
    session: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    evidence: tuple[int, ...]
    category: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    source: str
    messages: Sequence[Message]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Unit:
    """One window of one message: what is embedded, mined and ranked."""

    conversation: int
    message: int
    text: str


def load_training(path: Path) -> list[Conversation]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        raw = json.load(file)
    return [
        Conversation(
            item["s"],
            [Message(speaker, date, str(session), text) for speaker, date, session, text in item["m"]],
            [Question(text, tuple(evidence)) for text, evidence in item["q"] if evidence],
        )
        for item in raw
    ]


def load_benchmark(path: Path) -> list[Conversation]:
    """A benchmark in the normalized format; questions without evidence cannot be measured and are left out."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        raw = json.load(file)
    return [_benchmark_conversation(raw["name"], case) for case in raw["cases"]]


def _benchmark_conversation(name: str, case: dict) -> Conversation:
    index = {message["id"]: position for position, message in enumerate(case["messages"])}
    messages = [
        Message(
            message["speaker"] or message["role"] or "",
            spoken_date(datetime.fromisoformat(message["time"])) if message["time"] else "",
            str(message["session"]),
            message["text"],
        )
        for message in case["messages"]
    ]
    questions = [
        Question(
            question["text"],
            tuple(sorted({index[e] for e in question["evidence"] if e in index})),
            question["category"],
        )
        for question in case["questions"]
    ]
    return Conversation(name, messages, [question for question in questions if question.evidence])


def cut_into_units(conversations: Sequence[Conversation]) -> list[Unit]:
    return [
        Unit(number, position, window)
        for number, conversation in enumerate(conversations)
        for position, message in enumerate(conversation.messages)
        for window in windows(message.text)
    ]


def write_out(conversations: Sequence[Conversation], unit: Unit, form: str) -> str:
    """A unit as text: the turn alone, or as the embedder or the reranker reads it."""
    messages = conversations[unit.conversation].messages
    message = messages[unit.message]
    if form == "bare":
        return turn(message.speaker, unit.text)
    previous = _neighbour(messages, unit.message, -1)
    if form == "embedded":
        return embedding_passage(unit.text, speaker=message.speaker, date=message.date, previous=previous)
    following = _neighbour(messages, unit.message, 1)
    return reranking_passage(
        unit.text, speaker=message.speaker, date=message.date, previous=previous, following=following
    )


def _neighbour(messages: Sequence[Message], position: int, step: int) -> str:
    other = position + step
    if not 0 <= other < len(messages) or messages[other].session != messages[position].session:
        return ""
    return turn(messages[other].speaker, messages[other].text)
