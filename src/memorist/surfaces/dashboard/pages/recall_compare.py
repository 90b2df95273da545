"""The playground twice: one question with two settings of recall, side by side, and what that changes."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.responses import Response

from memorist import tools
from memorist.errors import InvalidField, MemoristError
from memorist.memories.accesses import unnoted
from memorist.platform.beside import beside
from memorist.platform.values import Principal
from memorist.recall.values import Question, Recalled, Weights
from memorist.surfaces.dashboard.pages import recall, recall_answer
from memorist.surfaces.dashboard.pages.recall_question import COMPARE, LONGEST_QUERY, PER_SIDE, SIDES, RecallForm
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import Visit
from memorist.surfaces.dashboard.wording import say

if TYPE_CHECKING:  # It brings what searches; most pages are shown without.
    from memorist.recall.reading import TimedReading
    from memorist.recall.service import Recall

pages = Pages()

_SHARED = ("category", "project", "agent", "session", "after", "before", "budget_tokens")
_CLASSES = ("session", "history", "user", "agent", "tenant")
_MOST_WEIGHT = 100.0


@pages.get("/recall/compare")
def show(visit: Visit) -> Response:
    asked = [_AskedSide.of(visit.request.query_params, side) for side in SIDES]
    reranked = sum(side.form.fields["rerank"] != "off" for side in asked)
    is_asked = bool(asked[0].form.query)
    later = visit.later(reranks=is_asked and reranked > 0)
    if not is_asked or later is not None:
        return _shown(visit, asked, None, later)
    if _differ_in_reranking(*asked):
        with visit.reading(COMPARE) as reading:
            return _shown(visit, asked, compare(*_recalled_both_ways(visit, asked, reading)), None)
    # Both have the same time, and two that are read take some of each other's.
    with visit.reading(f"{COMPARE} {reranked}") as reading:
        return _shown(visit, asked, compare(*_recalled_at_once(visit, asked, reading)), None)


def _shown(visit: Visit, asked: Sequence["_AskedSide"], compared: "Comparison | None", later: str | None) -> Response:
    given = visit.request.query_params
    told: dict[str, Any] = {
        "asked": asked,
        "compared": compared,
        "address": COMPARE,
        "loosened": _loosened(given, asked),
    }
    if visit.is_partial:
        headers = {} if visit.is_later("compared") else {"HX-Push-Url": _address(given)}
        return visit.part("parts/recall_compared.html", beside=True, headers=headers, **told)
    return visit.page(
        "recall_compare.html",
        section="recall",
        beside=False,
        later=later,
        scopes={scope: say(label) for scope, label in recall.SCOPES.items()},
        shared=[(name, value) for name, value in given.multi_items() if name in (*_SHARED, "kind") and value],
        longest_query=LONGEST_QUERY,
        weights=_weights(visit),
        **told,
    )


@dataclass(frozen=True, slots=True)
class _AskedSide:
    """What one side asks. `weights` are those that it sets, as they were typed."""

    name: str
    form: RecallForm
    weights: Mapping[str, str]

    @classmethod
    def of(cls, given: QueryParams, side: str) -> "_AskedSide":
        """Where no side sets anything, the second does without the reranker."""
        own = {name: given.get(f"{side}_{name}", "") for name in PER_SIDE}
        is_bare = not any(value for name, value in given.items() if name.partition("_")[0] in SIDES)
        if side == SIDES[1] and is_bare:
            own["rerank"] = "off"
        shared = [(name, value) for name, value in given.multi_items() if name in ("q", "kind", *_SHARED)]
        weights = {name: given.get(f"{side}_w_{name}", "").strip() for name in ("words", *_CLASSES)}
        return cls(side, RecallForm.of(QueryParams([*shared, *own.items()])), weights)

    def weight(self, name: str) -> str:
        """A weight as a field for numbers takes it; what is none, it would not show."""
        return self.weights[name] if _number(self.weights[name]) is not None else ""

    @property
    def has_weights(self) -> bool:
        return any(self.weights.values())

    @property
    def is_open(self) -> bool:
        """Whether anything is set beside the reranker and the time."""
        return self.has_weights or any(self.form.fields[name] for name in PER_SIDE if name not in ("rerank", "as_of"))


@dataclass(frozen=True, slots=True)
class RecalledSide:
    """What one side found, or why it was refused."""

    found: Sequence[recall_answer.ShownMemory] = ()
    milliseconds: int = 0
    rerank_used: bool = False
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class ComparedMemory:
    """A memory of one side, and its place on the other; None where it is not there."""

    shown: recall_answer.ShownMemory
    elsewhere: int | None

    @property
    def gained(self) -> int:
        """How many places it stands higher here than on the other side."""
        return 0 if self.elsewhere is None else self.elsewhere - self.shown.rank


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both sides with their memories; how many are on both, at another place, and on one side alone."""

    sides: tuple[tuple[RecalledSide, tuple[ComparedMemory, ...]], ...]
    both: int
    moved: int
    alone: tuple[int, ...]


def compare(*sides: RecalledSide) -> Comparison:
    ranks = [{one.hit.memory.id: one.rank for one in side.found} for side in sides]
    told = tuple(
        (side, tuple(ComparedMemory(one, other.get(one.hit.memory.id)) for one in side.found))
        for side, other in zip(sides, reversed(ranks), strict=True)
    )
    both = [one for one in told[0][1] if one.elsewhere is not None]
    alone = tuple(sum(one.elsewhere is None for one in found) for _, found in told)
    return Comparison(told, len(both), sum(one.gained != 0 for one in both), alone)


def _recalled_at_once(visit: Visit, asked: Sequence[_AskedSide], reading: "TimedReading") -> list[RecalledSide]:
    """What both sides find. Whoever compares waits for the slower one, and not for one after the other."""
    one, other = asked
    with beside(partial(_recalled, visit, other, reading)) as of_other:
        return [_recalled(visit, one, reading), of_other()]


def _recalled(visit: Visit, side: _AskedSide, reading: "TimedReading") -> RecalledSide:
    """What a side finds. Neither counts as a recall: somebody compares."""
    try:
        weighed, principal, question = _question(visit, side)
        started = time.perf_counter()
        with unnoted():
            recalled = weighed.recall(principal, question, reading)
    except MemoristError as error:
        return _refused(visit, side, error)
    return _found(visit, side, recalled, time.perf_counter() - started)


def _differ_in_reranking(one: _AskedSide, other: _AskedSide) -> bool:
    """Whether one side does without the reranker, and nothing else is different."""
    asked = [{"enable_rerank": True} | dict(side.form.arguments) for side in (one, other)]
    rerank = [side.pop("enable_rerank") for side in asked]
    return asked[0] == asked[1] and one.weights == other.weights and rerank[0] != rerank[1]


def _recalled_both_ways(visit: Visit, asked: Sequence[_AskedSide], reading: "TimedReading") -> list[RecalledSide]:
    """What both sides find where only the reranker is in question: of the same candidates."""
    unread, read = sorted(asked, key=lambda side: side.form.fields["rerank"] != "off")
    try:
        weighed, principal, question = _question(visit, read)
        started = time.perf_counter()
        with unnoted():
            answers = weighed.both_ways(principal, question, reading)
            timed = [(recalled, time.perf_counter() - started) for recalled in answers]
    except MemoristError as error:
        return [_refused(visit, side, error) for side in asked]
    found = {side.name: _found(visit, side, *told) for side, told in zip((unread, read), timed, strict=True)}
    return [found[side.name] for side in asked]


def _question(visit: Visit, side: _AskedSide) -> "tuple[Recall, Principal, Question]":
    """Who answers a side, who asks, and what. Raises InvalidField or Forbidden."""
    question = replace(tools.question_of(side.form.arguments), explain=True)
    principal = side.form.by(visit.principal)
    weighed = visit.core.recall
    if side.has_weights:
        own = {name: _weight(side, name, _MOST_WEIGHT) for name in _CLASSES if side.weights[name]}
        words = _weight(side, "words", 1.0) if side.weights["words"] else None
        weighed = weighed.weighing(weights=replace(_weights(visit), **own), words=words)
    return weighed, principal, question


def _found(visit: Visit, side: _AskedSide, recalled: Recalled, seconds: float) -> RecalledSide:
    found = recall_answer.shown(recalled, side.form.query, by_meaning=visit.core.embedder is not None)
    return RecalledSide(found, round(1000 * seconds), recalled.rerank_used)


def _refused(visit: Visit, side: _AskedSide, error: MemoristError) -> RecalledSide:
    """What is wrong with what a side asks. Raises the error where nothing is."""
    if visit.site.status_of(error) >= 500:
        raise error
    return RecalledSide(refusal=recall.refusal(error, side.form))


def _weights(visit: Visit) -> Weights:
    """What this server counts a memory of each class."""
    return Weights(**{name: getattr(visit.settings, f"recall_weight_{name}") for name in _CLASSES})


def _weight(side: _AskedSide, name: str, most: float) -> float:
    value = _number(side.weights[name])
    if value is None or not 0 <= value <= most:
        raise InvalidField(say("A weight must be a number from 0 to {most}.", most=f"{most:g}"), field=name)
    return value


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _loosened(given: QueryParams, asked: Sequence[_AskedSide]) -> str | None:
    """The same question with whatever hardly fits, on both sides; None where that is what is asked."""
    if all(side.form.fields["min_score"] in ("0", "0.0") for side in asked):
        return None
    own = {f"{side.name}_rerank": side.form.fields["rerank"] for side in asked}
    own |= {f"{side.name}_min_score": "0" for side in asked}
    return _address(
        QueryParams([(name, value) for name, value in given.multi_items() if name not in own] + [*own.items()])
    )


def _address(given: QueryParams) -> str:
    """The same question again, without what is empty."""
    pairs = [(name, value) for name, value in given.multi_items() if value]
    return f"{COMPARE}?{urlencode(pairs)}"
