"""The first stage: every row on some shelves, and which of them a question may bring back."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from memorist import words
from memorist.recall import filters, joining
from memorist.recall.fusion import Rows, unless_all
from memorist.recall.index.columns import Array
from memorist.recall.index.view import View
from memorist.recall.question import Asked
from memorist.recall.ranking import Mask, Scores


@dataclass(frozen=True, eq=False)
class Candidates:
    """The rows of some shelves for one question. Places count through all of them."""

    asked: Asked
    views: Sequence[View]
    ids: joining.Ids
    checks: filters.Checks
    live: Mask
    """What may be looked at."""

    wanted: Mask
    """What may come back."""

    weights: Scores
    """What each row counts by its class."""

    previous: Array
    """The place of the turn before each, or -1."""

    rows: Rows

    asks: bool
    """Whether the question has any word."""

    tells: bool
    """Whether it has one that says what it is about."""

    @property
    def waiting(self) -> int:
        """How many of what may come back wait for their vectors."""
        return int(np.count_nonzero(self.wanted & (self.rows.windows == 0)))

    def turns_around(self, place: int) -> tuple[int, int]:
        """The places of the turns before and after; -1 for none, or for one that may not be shown."""
        before, after = int(self.previous[place]), int(self.following[place])
        return (
            before if before >= 0 and self.live[before] else -1,
            after if after >= 0 and self.live[after] else -1,
        )

    @cached_property
    def following(self) -> Array:
        """The place of the turn after each, or -1."""
        following = np.full(self.previous.size, -1, dtype=np.int64)
        later = np.flatnonzero(self.previous >= 0)
        following[self.previous[later]] = later
        return following

    def refusal(self, place: int) -> str | None:
        """Why a row may not come back; None where it may."""
        return next((filters.REFUSALS[name] for name, passed in self.checks.items() if not passed[place]), None)


def candidates(views: Sequence[View], asked: Asked) -> Candidates:
    """Raises InvalidField for a project that cannot be one."""
    checks = filters.may_be_shown(views, asked)
    size = checks["visible"].size
    live = joining.all_of(checks.values(), size)
    weights = joining.joined([filters.class_weights(view, asked) for view in views], np.float32)
    checks |= {"scope": weights > 0} | filters.are_asked_for(views, asked)
    wanted = joining.all_of(checks.values(), size)
    previous = joining.previous_turns(views)
    rows = Rows.of(
        joining.links(views, previous),
        joining.threads(views),
        joining.column(views, "windows"),
        unless_all(live),
        unless_all(wanted),
    )
    # Here, since this is done while the question is embedded.
    asks, tells = words.asks(asked.question.query), words.tells(asked.question.query)
    return Candidates(asked, views, joining.Ids(views), checks, live, wanted, weights, previous, rows, asks, tells)
