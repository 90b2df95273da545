"""How well the local extractor does on conversations that ship with the package, with what should be found in them.

They were written beside an earlier extractor and flatter none: they say whether it got worse, not how good it is. For
that, `knowledge` measures on conversations that nobody here wrote. In a third of them nothing is worth keeping.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from memorist.learning.extractors.kinds import Candidate, Vocabulary, category_of
from memorist.learning.extractors.local import extract_locally
from memorist.learning.extractors.transcripts import parse_transcript
from memorist.models.port import Tagger
from memorist.words import question_terms, terms

HALVES = ("tune", "held")
NOTHING = "nothing"
# How many of an expected memory's words, without those that every sentence has, a found one must have.
ENOUGH_WORDS = 0.6

_HEADING = re.compile(r"^## (?P<name>\S+) \((?P<subject>\w+)\)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LabelledConversation:
    """A transcript, its subject (`nothing` where nothing is worth keeping), and the memories as category and text."""

    name: str
    subject: str
    transcript: str
    expected: tuple[tuple[str, str], ...]

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.CODING if self.subject == "coding" else Vocabulary.COMPANION


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of one conversation: pairs that match, what was found besides, and what was missed."""

    conversation: LabelledConversation
    matched: tuple[tuple[str, str], ...]
    wrong: tuple[tuple[str, str], ...]
    missed: tuple[tuple[str, str], ...]


def measure_extraction(tagger: Tagger) -> dict[str, Any]:
    """Precision, recall and what came of nothing, for each half, with every miss."""
    return {half: _summary([compare(one, tagger) for one in conversations(half)]) for half in HALVES}


def conversations(half: str) -> list[LabelledConversation]:
    text = (files("memorist_bench") / "transcripts" / f"{half}.txt").read_text("utf-8")
    marks = list(_HEADING.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [_conversation(mark, text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)]


def _conversation(mark: re.Match[str], block: str) -> LabelledConversation:
    lines = block.strip().split("\n")
    expected = [line.removeprefix("= ").partition(": ") for line in lines if line.startswith("= ")]
    transcript = "\n".join(line for line in lines if not line.startswith("= "))
    return LabelledConversation(
        mark["name"], mark["subject"], transcript, tuple((category, text) for category, _, text in expected)
    )


def compare(conversation: LabelledConversation, tagger: Tagger) -> Compared:
    """Match what is found with what is expected, the most similar first; each counts once."""
    found = extract_locally(parse_transcript(conversation.transcript).messages, conversation.vocabulary, tagger)
    told = [_told(one, conversation.vocabulary) for one in found]
    pairs = sorted(
        (
            (similarity(wanted[1], got[1]), -index, -number)
            for index, wanted in enumerate(conversation.expected)
            for number, got in enumerate(told)
            if wanted[0] == got[0]
        ),
        reverse=True,
    )
    pairing: dict[int, int] = {}
    for likeness, index, number in pairs:
        if likeness >= ENOUGH_WORDS and -index not in pairing and -number not in pairing.values():
            pairing[-index] = -number
    return Compared(
        conversation,
        matched=tuple((conversation.expected[index][1], told[number][1]) for index, number in sorted(pairing.items())),
        wrong=tuple(one for number, one in enumerate(told) if number not in pairing.values()),
        missed=tuple(one for index, one in enumerate(conversation.expected) if index not in pairing),
    )


def _told(one: Candidate, vocabulary: Vocabulary) -> tuple[str, str]:
    return category_of(one.found, vocabulary) or "", one.content


def similarity(expected: str, found: str) -> float:
    """The share of an expected memory's words that a found one has; endings of words do not count."""
    wanted = set(question_terms(expected))
    return len(wanted.intersection(terms(found))) / len(wanted)


def _summary(compared: Sequence[Compared]) -> dict[str, Any]:
    matched = sum(len(one.matched) for one in compared)
    wrong = sum(len(one.wrong) for one in compared)
    missed = sum(len(one.missed) for one in compared)
    empty = [one for one in compared if one.conversation.subject == NOTHING]
    return {
        "conversations": len(compared),
        "expected": matched + missed,
        "found": matched + wrong,
        "precision": round(matched / max(1, matched + wrong), 3),
        "recall": round(matched / max(1, matched + missed), 3),
        "nothing_to_keep": len(empty),
        "found_in_nothing": sum(len(one.wrong) for one in empty),
        "wrong": [_line(one, *each) for one in compared for each in one.wrong],
        "missed": [_line(one, *each) for one in compared for each in one.missed],
    }


def _line(one: Compared, category: str, text: str) -> str:
    return f"{one.conversation.name}: {category}: {text}"
