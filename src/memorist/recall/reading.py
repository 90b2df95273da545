"""How many candidates the reranker reads in the time that a recall has."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import TracebackType

from memorist.models.port import Reranker
from memorist.platform.tokens import count_tokens
from memorist.recall.fusion import Extent

LEAST = 2
"""So many are read however late it is: fewer say nothing of which is better."""

BATCH = 8
"""So many are read before it looks at the time again."""

_NEWEST = 0.3
"""What the last time counts in an estimate: a machine that is busy now may not be so for long."""

_MOST = 4
"""So many times as slow as before counts at most: a machine that slept in between is not slow."""

_CAUTION = 2
"""So many times what a time differs by from its mean is added to it: then it is enough in 19 of 20 cases."""

_LATEST = 0.1
"""What a question counts in what a batch costs by itself."""

_DIFFERENT = 1.5
"""So many times as large as the smallest must the largest batch of a question be to tell it."""

_MOST_FIXED = 400
"""Tokens that a batch costs by itself at most, five candidates: more is chance."""


class Estimate:
    """How long something takes, learned from how long it took; and by how much that differs."""

    __slots__ = ("_differs_by", "_mean")

    def __init__(self) -> None:
        self._mean: float | None = None
        self._differs_by = 0.0

    @property
    def seconds(self) -> float | None:
        """What it takes on nearly all occasions. None where it is not known."""
        return None if self._mean is None else self._mean + _CAUTION * self._differs_by

    def learn(self, seconds: float) -> None:
        if not self._mean:
            self._mean = seconds
            return
        differs = min(seconds, _MOST * self._mean) - self._mean
        self._differs_by += _NEWEST * (abs(differs) - self._differs_by)
        self._mean += _NEWEST * differs


class BatchTimes:
    """How long a batch takes, learned from how long others took: so much for each token, and by itself as much as for
    some more tokens, since threads are woken for it.
    """

    __slots__ = ("_of_token", "fixed")

    def __init__(self) -> None:
        self._of_token = Estimate()
        self.fixed = 0.0
        """What a batch costs by itself, in tokens."""

    @property
    def is_known(self) -> bool:
        return self._of_token.seconds is not None

    def seconds(self, tokens: int) -> float:
        return (self.fixed + tokens) * (self._of_token.seconds or 0.0)

    def learn(self, tokens: int, seconds: float) -> None:
        self._of_token.learn(seconds / (self.fixed + max(1, tokens)))

    def compare(self, batches: Sequence[tuple[int, float]]) -> None:
        """The tokens and seconds of all batches of one question: how busy the machine was, it was for each of them."""
        if len(batches) < 2:
            return
        (fewest, soonest), (most, latest) = min(batches), max(batches)
        if most < _DIFFERENT * fewest:
            return
        slope = (latest - soonest) / (most - fewest)
        found = _MOST_FIXED if slope * (fewest + _MOST_FIXED) <= soonest else max(0.0, soonest / slope - fewest)
        self.fixed += _LATEST * (found - self.fixed)


class _Learned:
    """How long a batch takes, and what follows the reading."""

    __slots__ = ("of_batch", "of_rest")

    def __init__(self) -> None:
        self.of_batch = BatchTimes()
        self.of_rest = Estimate()


class ReadingPace:
    """Reads candidates best first, until the budget of a question is spent; in 0 seconds, all of them at once.

    How long a batch takes on this machine, and what is done after the reading, is learned by all questions together
    that are asked for the same.
    """

    def __init__(self, budget_s: float = 0.0, timer: Callable[[], float] = time.perf_counter) -> None:
        self.budget_s = budget_s
        self.timer = timer
        self._learned: defaultdict[str, _Learned] = defaultdict(_Learned)

    def begin(self, what: str = "", ago_s: float = 0.0) -> "TimedReading":
        """The time of a question runs from here, or since so long ago. `what` it is asked for: what is done beside and
        after it differs.
        """
        return TimedReading(self, self._learned[what], self.timer() - ago_s)


class TimedReading:
    """One question, from its beginning to its end: the end of its block, unless that fails."""

    __slots__ = ("_began", "_ended", "_learned", "_needed", "_pace")

    def __init__(self, pace: ReadingPace, learned: _Learned, began: float) -> None:
        self._pace = pace
        self._learned = learned
        self._began: float | None = began
        self._ended: float | None = None
        self._needed = began

    def __enter__(self) -> "TimedReading":
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None and self._ended is not None:
            self._learned.of_rest.learn(self._pace.timer() - max(self._ended, self._needed))

    def wait(self) -> None:
        """What is done before the reading does not count: it is done once, such as loading a user's index."""
        self._began = None

    def needed(self) -> None:
        """What else is done is done beside the reading until here, where it is waited for: only the rest follows it."""
        self._needed = self._pace.timer()

    def read(
        self, reranker: Reranker, query: str, passages: Sequence[str], extent: Extent | None = None
    ) -> list[float]:
        """The scores of as many of the first passages as there is time for, at least LEAST, and no more than are worth
        it. Without a budget, and by another's reranker, all are read. Raises ModelError.
        """
        pace = self._pace
        # Another's reranker is asked once: asking it again would cost its answer's way once more.
        if not pace.budget_s or not reranker.is_local:
            return reranker.score(query, list(passages))
        before = pace.timer()
        reranker.load()  # Only the first question would pay for that.
        started = pace.timer()
        until = (started if self._began is None else self._began + started - before) + pace.budget_s
        until -= self._learned.of_rest.seconds or 0.0
        asked = count_tokens(query)
        costs: list[int] = []
        scores: list[float] = []
        batches: list[tuple[int, float]] = []
        at_once, enough = BATCH, float("inf")
        if extent is not None:
            costs += [asked + count_tokens(passage) for passage in passages[: extent.settled]]
            if self._is_short(costs, until - pace.timer()):
                at_once, enough = LEAST, extent.convincing
        for end, certain in _steps(extent, len(passages)):
            while max(scores, default=0.0) < enough:
                # No more are looked at than may be read next: each is written out for it.
                until_there = min(end, len(scores) + at_once)
                costs += [asked + count_tokens(passage) for passage in passages[len(costs) : until_there]]
                left = costs[len(scores) : until_there]
                count = self._affordable(left, until - pace.timer(), is_first=not scores)
                if not count:
                    break
                part = slice(len(scores), len(scores) + count)
                before = pace.timer()
                scores += reranker.score(query, passages[part])
                batches.append((_cost(costs[part]), pace.timer() - before))
                self._learned.of_batch.learn(*batches[-1])
            if max(scores, default=0.0) >= certain:
                break
        self._ended = pace.timer()
        self._learned.of_batch.compare(batches)
        return scores

    def _is_short(self, costs: Sequence[int], left_s: float) -> bool:
        """Whether it is known that so much cannot be read in the time that is left."""
        batches = self._learned.of_batch
        return batches.is_known and batches.seconds(_cost(costs)) > left_s

    def _affordable(self, costs: Sequence[int], left_s: float, *, is_first: bool) -> int:
        """How many of what is left are read next: a half of those that there is time for, where that is not all, and
        two batches do not take much longer than one.
        """
        least = min(LEAST, len(costs)) if is_first else 0
        batches = self._learned.of_batch
        if not batches.is_known:
            return least
        count = most = len(costs)
        while count and batches.seconds(_cost(costs[:count])) > left_s:
            count -= 1
        if count == most or batches.fixed > _cost(costs[:count]) / 4:
            return max(count, least)
        # By how much an estimate is wrong is seen sooner so.
        return max((count + 1) // 2, least)


def _steps(extent: Extent | None, count: int) -> Sequence[tuple[int, float]]:
    """How far to read, and with how high a score among those no further."""
    if extent is None:
        return [(count, float("inf"))]
    return [(LEAST, extent.sure), (extent.at_first, extent.convincing), (extent.in_doubt, extent.convincing)]


def _cost(costs: Sequence[int]) -> int:
    """What it takes to read some at once: each of them counts as the longest."""
    return len(costs) * max(costs, default=0)
