"""How many candidates the reranker reads in the time that it has."""

import time
from collections.abc import Callable, Sequence

from memorist.models.port import Reranker
from memorist.platform.tokens import count_tokens

LEAST = 4
"""So many are read however slow the machine is."""

BATCH = 8
"""So many are read before it looks at the time again."""

_NEWEST = 0.3
"""What the last reading counts in the estimate: a machine that is busy now may not be so for long."""

_MOST = 4
"""So many times as slow as before counts at most: a machine that slept in between is not slow."""


class ReadingPace:
    """Reads candidates best first, until the budget of a question is spent; in 0 seconds, all of them at once.

    How long a token takes on this machine is learned from what was read, by all questions together.
    """

    def __init__(self, budget_s: float = 0.0, timer: Callable[[], float] = time.perf_counter) -> None:
        self.budget_s = budget_s
        self._timer = timer
        self._seconds_per_token: float | None = None

    def read(self, reranker: Reranker, query: str, passages: Sequence[str]) -> list[float]:
        """The scores of as many of the first passages as there is time for, at least LEAST. Raises ModelError."""
        # Another's reranker is asked once: asking it again would cost its answer's way once more.
        if not self.budget_s or not reranker.is_local:
            return reranker.score(query, passages)
        reranker.load()  # Only the first question would pay for that.
        costs = [count_tokens(query) + count_tokens(passage) for passage in passages]
        scores: list[float] = []
        started = self._timer()
        while count := self._affordable(costs[len(scores) :], self._timer() - started, is_first=not scores):
            part = slice(len(scores), len(scores) + count)
            before = self._timer()
            scores += reranker.score(query, passages[part])
            self._learn((self._timer() - before) / sum(costs[part]))
        return scores

    def _affordable(self, costs: Sequence[int], spent_s: float, *, is_first: bool) -> int:
        """How many of what is left can be read next."""
        least = min(LEAST, len(costs)) if is_first else 0
        if self._seconds_per_token is None:
            return least
        left = (self.budget_s - spent_s) / self._seconds_per_token
        count = 0
        for cost in costs[:BATCH]:
            left -= cost
            if left < 0:
                break
            count += 1
        return max(count, least)

    def _learn(self, seconds_per_token: float) -> None:
        known = self._seconds_per_token
        if known is None:
            self._seconds_per_token = seconds_per_token
        else:
            self._seconds_per_token = known + _NEWEST * (min(seconds_per_token, _MOST * known) - known)
