"""Recall while 100,000 memories are swept in the same process, against recall of the same store when nothing is."""

import itertools
import tempfile
import threading
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median, quantiles

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.memories.values import Draft, Kind, Retention
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from memorist.settings_sources import load_settings
from memorist.times import SystemClock
from memorist_bench.ratios.results import Results, at_most, fact
from memorist_bench.ratios.sentences import sentence

_TARGET = 2.0
_USERS = 20
_KEPT_SHARE = 5
"""For so many memories that are due, one is kept, and searched for."""
_BATCH = 1000
_IDLE_QUESTIONS = 400
_OVERDUE = timedelta(days=100)


class _LateClock:
    """The clock of the machine, some days late or early."""

    def __init__(self) -> None:
        self.behind = _OVERDUE
        self._clock = SystemClock()

    def now(self) -> datetime:
        return self._clock.now() - self.behind


def run(due: int = 100_000) -> Results:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as folder:
        clock = _LateClock()
        settings = load_settings({"data": folder, "embedder": "off", "reranker": "off"}, environment={}).settings
        core = open_core(replace(settings, data=Path(folder)), clock=clock)
        try:
            _fill(core, due)
            clock.behind = timedelta(0)
            core.policies.change(Principal("local", Role.ADMIN), {"mode": "enforce"})
            _ask(core, _IDLE_QUESTIONS)  # Loads the shelves.
            idle = _ask(core, _IDLE_QUESTIONS)
            moved, seconds, busy = _ask_while_sweeping(core)
        finally:
            core.close()
    assert moved == due, f"{moved} of {due} were moved"
    return {
        "recall while sweeping / idle, p95": at_most(_TARGET, [_p95(busy) / _p95(idle)]),
        "recall while sweeping / idle, median": fact(median(busy) / median(idle), "x"),
        "recall, idle, p95": fact(_p95(idle) * 1000, "ms"),
        "recall while sweeping, p95": fact(_p95(busy) * 1000, "ms"),
        "swept": fact(moved / seconds, "memories/s"),
        "questions meanwhile": fact(len(busy), ""),
    }


def _fill(core: Core, due: int) -> None:
    core.identity.create_tenant("local")
    for start in range(0, due, _BATCH):
        drafts = [_draft(number, Retention.POLICY) for number in range(start, min(due, start + _BATCH))]
        drafts += [_draft(due + number, Retention.KEEP) for number in range(start, start + _BATCH, _KEPT_SHARE)]
        by_user = sorted(enumerate(drafts), key=lambda one: one[0] % _USERS)
        for user, group in itertools.groupby(by_user, key=lambda one: one[0] % _USERS):
            core.memories.remember(_user(user), [draft for _, draft in group])


def _draft(number: int, retention: Retention) -> Draft:
    return Draft(sentence(number), Kind.CHAT_MESSAGE, session=f"s-{number // 40}", retention=retention)


def _ask_while_sweeping(core: Core) -> tuple[int, float, list[float]]:
    moved = 0
    started = time.perf_counter()

    def sweep() -> None:
        nonlocal moved
        done = core.sweeper.sweep("local").done
        moved = sum(count for kinds in done.values() for count in kinds.values())

    sweeping = threading.Thread(target=sweep)
    sweeping.start()
    taken: list[float] = []
    while sweeping.is_alive():
        taken += _ask(core, 1, start=len(taken))
    return moved, time.perf_counter() - started, taken


def _ask(core: Core, count: int, start: int = 0) -> list[float]:
    taken = []
    for number in range(start, start + count):
        question = Question(sentence(number * 7), top_k=5)
        before = time.perf_counter()
        core.recall.recall(_user(number % _USERS), question)
        taken.append(time.perf_counter() - before)
    return taken


def _user(number: int) -> Principal:
    return Principal("local", Role.USER, f"user-{number}", source="benchmark")


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]
