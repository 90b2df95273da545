"""What the playground shows of an answer: each arm as a bar, the question's words in each text, and what was done."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from memorist import tools, words
from memorist.memories.kinds import KINDS
from memorist.memories.searchable import speaker_of
from memorist.memories.values import Memory
from memorist.platform.tokens import count_tokens
from memorist.recall.values import Hit, Recalled
from memorist.surfaces.dashboard.wording import number, say

_WORD = re.compile(r"\w+(?:['’]\w+)*")
# Marking looks at every word, and more of a text than this is not read in a list.
_LONGEST_MARKED = 3000
_LONG = 300
_MANY_LINES = 7


class AnswerPiece(NamedTuple):
    text: str
    is_asked: bool


class ArmBar(NamedTuple):
    """What one arm says of a memory: how strongly, from 0 to 100, or nothing; and the same in words."""

    arm: str
    label: str
    percent: int | None
    says: str


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A memory of the answer, as the page shows it."""

    rank: int
    hit: Hit
    origin: tuple[str, ...]
    pieces: tuple[AnswerPiece, ...]
    bars: tuple[ArmBar, ...]
    steps: tuple[tuple[str, str], ...]
    tokens: int

    @property
    def is_long(self) -> bool:
        """Whether its text may need to be scrolled, and so to be reached by keyboard."""
        return len(self.hit.excerpt) > _LONG or self.hit.excerpt.count("\n") > _MANY_LINES


@dataclass(frozen=True, slots=True)
class AgentText:
    """The text that a model gets, to the letter, and the same indented; how many tokens it is to cost."""

    exact: str
    readable: str
    tokens: int


def shown(recalled: Recalled, query: str, *, by_meaning: bool) -> list[ShownMemory]:
    return [
        ShownMemory(
            rank,
            hit,
            tuple(_origin(hit.memory)),
            marked(hit.excerpt, query),
            bars(hit.explanation or {}, by_meaning=by_meaning, reranked=recalled.rerank_used),
            tuple(_steps(hit.explanation or {})),
            count_tokens(hit.excerpt),
        )
        for rank, hit in enumerate(recalled.hits, start=1)
    ]


def agent_text(recalled: Recalled) -> AgentText:
    """What the tool `recall` returns, as MCP and turns hand it to a model; explanations are only for this page."""
    plain = replace(recalled, hits=tuple(replace(hit, explanation=None) for hit in recalled.hits))
    result = tools.recall_result(plain)
    exact = json.dumps(result, ensure_ascii=False)
    return AgentText(exact, json.dumps(result, ensure_ascii=False, indent=2), count_tokens(exact))


def bars(explanation: Mapping[str, Any], *, by_meaning: bool, reranked: bool) -> tuple[ArmBar, ...]:
    """One bar for each arm, from the weakest to the strongest of all that was searched; none without an explanation."""
    if not explanation:
        return ()
    return (
        _words_bar(explanation["text"]),
        _meaning_bar(explanation["vector"], by_meaning=by_meaning),
        _rerank_bar(explanation.get("reranker"), reranked=reranked),
    )


def _words_bar(by_text: Mapping[str, Any]) -> ArmBar:
    strength = by_text["with_neighbours"]
    if by_text["rank"] is None:
        says = say("no word in common") if strength <= 0 else say("only the turns around it have the words")
        return ArmBar("words", say("Words"), _percent(strength) if strength > 0 else None, says)
    return ArmBar("words", say("Words"), _percent(strength), f"#{by_text['rank']} · {number(strength, 2)}")


def _meaning_bar(by_vector: Mapping[str, Any], *, by_meaning: bool) -> ArmBar:
    if not by_meaning:
        return ArmBar("meaning", say("Meaning"), None, say("not searched"))
    if by_vector["rank"] is None:
        return ArmBar("meaning", say("Meaning"), None, say("waits for its vector"))
    strength = by_vector["with_neighbours"]
    return ArmBar("meaning", say("Meaning"), _percent(strength), f"#{by_vector['rank']} · {number(strength, 2)}")


def _rerank_bar(said: Mapping[str, Any] | None, *, reranked: bool) -> ArmBar:
    if said is None:
        return ArmBar("rerank", say("Rerank"), None, say("not among those it read") if reranked else say("not used"))
    return ArmBar(
        "rerank", say("Rerank"), _percent(said["normalised"]), f"#{said['rank']} · {number(said['normalised'], 2)}"
    )


def _percent(share: float) -> int:
    return round(100 * max(0.0, min(1.0, share)))


def _steps(explanation: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """How a memory came to its place, step by step."""
    if not explanation:
        return
    by_text, by_vector = explanation["text"], explanation["vector"]
    first = explanation["first_stage"]
    yield (
        say("Words"),
        say(
            "BM25 {score}, {percent}% of the question's words",
            score=f"{by_text['bm25']:g}",
            percent=number(100 * by_text["coverage"]),
        ),
    )
    if by_vector["cosine"] is not None:
        told = say("cosine {cosine}", cosine=f"{by_vector['cosine']:g}")
        if by_vector["windows"] > 1:
            told += ", " + say("part {part} of {parts}", part=by_vector["window"] + 1, parts=by_vector["windows"])
        yield say("Meaning"), told
    if "tokens" in explanation:
        said = explanation["tokens"]
        placed = {"rank": said["rank"], "compared": said["compared"], "score": f"{said['agreement']:g}"}
        yield say("Tokens"), say("#{rank} of {compared} that were compared, with {score}", **placed)
    placed = {"rank": first["rank"], "score": f"{first['score']:g}", "weight": f"{explanation['weight']:g}"}
    yield say("Together"), say("#{rank} with {score}, times {weight} for its class", **placed)
    if "reranker" in explanation:
        said = explanation["reranker"]
        placed = {"rank": said["rank"], "read": said["read"], "score": f"{said['score']:g}"}
        yield say("Reranker"), say("#{rank} of {read} that were read, with {score}", **placed)
    if "final_rank" in explanation:
        yield say("At last"), f"#{explanation['final_rank']}"


def marked(text: str, query: str) -> tuple[AnswerPiece, ...]:
    """A text in pieces, those that are words of the question marked. Joined, they are the text again."""
    asked = set(words.question_terms(query))
    pieces: list[AnswerPiece] = []
    end = 0
    for match in _WORD.finditer(text, 0, _LONGEST_MARKED):
        if asked.intersection(words.terms(match[0])):
            if match.start() > end:
                pieces.append(AnswerPiece(text[end : match.start()], is_asked=False))
            pieces.append(AnswerPiece(match[0], is_asked=True))
            end = match.end()
    if end < len(text):
        pieces.append(AnswerPiece(text[end:], is_asked=False))
    return tuple(pieces)


def _origin(memory: Memory) -> Iterator[str]:
    """Where it is from: its kind, who said it or where it stands, and what it is about."""
    headings = memory.meta_texts("heading_path")
    yield say(KINDS[memory.kind].one)
    said_by = " › ".join(headings) if headings else speaker_of(memory)
    yield from filter(None, (said_by, memory.name, memory.category, memory.project))
