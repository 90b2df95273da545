"""What a question may be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memorist import words
from memorist.errors import InvalidField
from memorist.ids import parse_id
from memorist.memories.values import Kind, Memory
from memorist.platform import access, validation
from memorist.platform.values import OwnerFilter, Principal
from memorist.recall.values import Question, Scope, Weights

_MOST_TERMS = 512
"""A question of ten thousand characters may have thousands of words, and each costs a search."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A valid question, with everything that it is answered by beside what is remembered."""

    principal: Principal
    question: Question
    slices: Sequence[OwnerFilter]
    """What the asker is shown."""

    weights: Weights
    least: float
    """The least score that counts."""

    now: datetime
    of_session: Sequence[OwnerFilter] = ()
    """What the asker is shown of the turns of the current session."""

    hidden: Mapping[str | None, Sequence[str]] = field(default_factory=dict)
    """By user, what only that one reads, who does not ask."""

    users: Sequence[str | None] = ()
    """Whose memories are looked at."""

    leaves_out: bool = False
    """Whether those of others, which the asker may see, are not."""

    @classmethod
    def of(cls, principal: Principal, question: Question, weights: Weights, least: float, now: datetime) -> "Asked":
        """`weights` and `least` hold where the question says nothing of its own."""
        return cls(
            principal,
            question,
            access.shown_slices(principal),
            weights if question.scope is Scope.ANY else _of_one_class(question.scope),
            least if question.min_score is None else question.min_score,
            now,
            () if principal.session is None else access.session_slices(principal),
        )

    def shows(self, memory: Memory) -> bool:
        if access.is_among(self.slices, memory):
            return True
        is_turn = memory.said_in is not None and memory.said_in == self.principal.session
        return is_turn and access.is_among(self.of_session, memory)

    def terms(self) -> list[str]:
        return terms_of(self.question.query)


def terms_of(text: str) -> list[str]:
    """The terms to look for."""
    return words.question_terms(text)[:_MOST_TERMS]


def _of_one_class(scope: Scope) -> Weights:
    return Weights(**{name: float(name == scope) for name in ("session", "user", "agent", "tenant", "history")})


def validated(principal: Principal, question: Question) -> Question:
    """The question with its choices, times and id as values. Raises InvalidField, InvalidId or Forbidden."""
    validation.text("query", question.query, longest=validation.MAX_QUERY)
    _whole("top_k", question.top_k, 1, validation.MAX_TOP_K)
    scope = validation.choice("scope", question.scope, Scope)
    if scope is Scope.USER:
        access.user_in_scope(principal)
    if scope is Scope.AGENT:
        access.agent_in_scope(principal)
    if question.budget_tokens is not None:
        _whole("budget_tokens", question.budget_tokens, 1, validation.MAX_BUDGET_TOKENS)
    if question.min_score is not None:
        validation.fraction("min_score", question.min_score)
    kinds = question.source_kinds
    if kinds is not None:
        kinds = tuple(validation.choice("source_kinds", kind, Kind) for kind in validation.each("source_kinds", kinds))
    for name, wanted in (("category", question.category), ("project", question.project)):
        if wanted is not None:
            validation.kind_of(name, wanted, str, "a text")
    return replace(
        question,
        scope=scope,
        source_kinds=kinds or None,
        as_of=_moment("as_of", question.as_of),
        known_at=_moment("known_at", question.known_at),
        after=_moment("after", question.after),
        before=_moment("before", question.before),
        why_not=None if question.why_not is None else parse_id("mem", question.why_not),
    )


def _moment(name: str, value: datetime | None) -> datetime | None:
    return None if value is None else validation.moment(name, value)


def _whole(name: str, value: int, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidField(f"{name} must be a whole number from {low} to {high}.", field=name)
