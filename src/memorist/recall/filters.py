"""Which rows a question may bring back, check by check, and what a row of each class counts."""

from collections.abc import Sequence

import numpy as np

from memorist.memories.searchable import Standing
from memorist.memories.values import Kind
from memorist.platform import validation
from memorist.platform.values import OwnerFilter
from memorist.recall.index.columns import Array
from memorist.recall.index.view import View
from memorist.recall.joining import column, is_any, joined
from memorist.recall.question import Asked
from memorist.recall.ranking import Mask, Scores
from memorist.recall.values import Scope
from memorist.times import to_micros

REFUSALS = {
    "visible": "You may not see it with this agent.",
    "unexpired": "It is past its expiry.",
    "live": "It is archived, superseded or deleted: `as_of` and `known_at` ask for what was superseded.",
    "kept": "It is archived or deleted.",
    "true_then": "It was not true at `as_of`.",
    "known_then": "It was not known at `known_at`.",
    "scope": "It is outside the scope, or its class has the weight 0.",
    "kind": "It is of another kind.",
    "category": "It is of another category.",
    "project": "It is of another project.",
    "after": "It is from before `after`.",
    "before": "It is not from before `before`.",
}
"""What each check says of a row that does not pass it."""

Checks = dict[str, Mask]
"""By name, in the order of `REFUSALS`, the rows that pass."""


def may_be_shown(views: Sequence[View], asked: Asked) -> Checks:
    """Rows that may be shown at all: by default those that hold now, or those of the moment that is asked for."""
    question, now = asked.question, to_micros(asked.now)
    standing = column(views, "standing")
    checks = {
        "visible": joined([_visible(view, asked) for view in views], bool),
        "unexpired": column(views, "expires_at") > now,
    }
    if question.as_of is None and question.known_at is None:
        checks["live"] = standing == Standing.LIVE
        return checks
    checks["kept"] = standing != Standing.GONE
    if question.as_of is not None:
        checks["true_then"] = _at(to_micros(question.as_of), column(views, "valid_from"), column(views, "valid_to"))
    if question.known_at is not None:
        moment = to_micros(question.known_at)
        checks["known_then"] = _at(moment, column(views, "created_at"), column(views, "retired_at"))
    return checks


def are_asked_for(views: Sequence[View], asked: Asked) -> Checks:
    question = asked.question
    checks: Checks = {}
    if question.source_kinds is not None:
        checks["kind"] = _is_one_of(views, "kind", question.source_kinds)
    if question.category is not None:
        checks["category"] = _is_one_of(views, "category", [question.category])
    if question.project is not None:
        checks["project"] = _is_one_of(views, "project", [validation.project(question.project)])
    if question.after is not None:
        checks["after"] = column(views, "event_time") >= to_micros(question.after)
    if question.before is not None:
        checks["before"] = column(views, "event_time") < to_micros(question.before)
    return checks


def class_weights(view: View, asked: Asked) -> Scores:
    """What each row counts by its class: this session, the user's, the agent's, the tenant's, or said before."""
    weights = asked.weights
    of_kind = np.full(len(view.codes["kind"]), weights.earlier, dtype=np.float32)
    for kind, weight in ((Kind.FACT, weights.user), (Kind.DOCUMENT_CHUNK, weights.tenant)):
        if view.code("kind", kind) >= 0:
            of_kind[view.code("kind", kind)] = weight
    found = of_kind.take(view.columns["kind"])
    if asked.principal.session is not None:
        found[_is_turn_of(view, asked.principal.session)] = weights.session
    if view.user is None:
        shared = view.columns["kind"] == view.code("kind", Kind.FACT)
        of_nobody = view.columns["agent"] == view.code("agent", None)
        # A tenant's facts count as its documents do; the scope `tenant` holds documents alone.
        found[shared & of_nobody] = weights.tenant if asked.question.scope is Scope.ANY else 0
        found[shared & ~of_nobody] = weights.agent
    return found


def _visible(view: View, asked: Asked) -> Mask:
    visible = _is_of(view, asked.slices)
    if asked.of_session:
        visible |= _is_of(view, asked.of_session) & _is_turn_of(view, asked.principal.session)
    if hidden := asked.hidden.get(view.user):
        visible[view.places_of(hidden)] = False
    return visible


def _is_of(view: View, slices: Sequence[OwnerFilter]) -> Mask:
    mine = [part for part in slices if part.any_user or part.user == view.user]
    if any(part.any_agent for part in mine):
        return np.ones(view.size, dtype=bool)
    return is_any(view.columns["agent"], [view.code("agent", part.agent) for part in mine])


def _is_turn_of(view: View, session: str | None) -> Mask:
    # Only turns have a session for their thread.
    found: Mask = view.columns["thread"] == view.code("thread", session)
    return found


def _at(moment: int, since: Array, until: Array) -> Mask:
    return (since <= moment) & (until > moment)


def _is_one_of(views: Sequence[View], name: str, values: Sequence[str]) -> Mask:
    return joined([is_any(view.columns[name], [view.code(name, value) for value in values]) for view in views], bool)
