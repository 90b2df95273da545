"""A coding assistant's search among 100,000 memories of one user, and how soon a change is told."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from memorist.bootstrap import open_core
from memorist.context.chunks import CATEGORIES
from memorist.core import Core
from memorist.memories.values import Draft, Kind
from memorist.platform.values import Principal, Role
from memorist.settings_sources import load_settings
from memorist_bench.ratios.results import Figure, Results, fact
from memorist_bench.ratios.sentences import sentence

_ROUNDS = 9
_BATCH = 1000
_USER = Principal("local", Role.USER, "ada", source="benchmark")
_SPEAKER = Principal("local", Role.USER, "bob", source="benchmark")


def run(count: int = 100_000) -> Results:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as folder:
        settings = load_settings({"data": folder, "embedder": "off", "reranker": "off"}, environment={}).settings
        core = open_core(replace(settings, data=Path(folder)))
        try:
            core.identity.create_tenant("local")
            _fill(core, _USER, count, " ok")
            found = _measure(core, "of ASCII")
            core.erasure.reset(_USER)
            _fill(core, _USER, count, " – größer")
            found |= _measure(core, "with other letters")
            # What a user said is not searched here, and should cost nothing.
            _talk(core, count)
            core.chunks.remember(_SPEAKER, "The only decision.", "decision")
            found["search of 1 beside as many messages"] = _milliseconds(lambda: core.chunks.search(_SPEAKER, "only"))
            found["change told in this process"] = fact(_told(core) * 1000, "ms")
        finally:
            core.close()
    return found


def _fill(core: Core, who: Principal, count: int, ending: str) -> None:
    for start in range(0, count, _BATCH):
        drafts = [
            Draft(
                f"{sentence(number)} [{number}]{ending}",
                category=CATEGORIES[number % len(CATEGORIES)],
                excerpt=sentence(number + 1),
            )
            for number in range(start, min(count, start + _BATCH))
        ]
        core.memories.remember(who, drafts)


def _talk(core: Core, count: int) -> None:
    for start in range(0, count, _BATCH):
        drafts = [Draft(sentence(number), Kind.CHAT_MESSAGE, session="s") for number in range(start, start + _BATCH)]
        core.memories.remember(_SPEAKER, drafts)


def _measure(core: Core, texts: str) -> Results:
    return {
        f"search of texts {texts}, newest": _milliseconds(lambda: core.chunks.search(_USER, "]")),
        f"search of texts {texts}, the oldest": _milliseconds(lambda: core.chunks.search(_USER, "[0]")),
        f"search of texts {texts}, not there": _milliseconds(lambda: core.chunks.search(_USER, "no such text")),
        f"search of texts {texts}, not there, GRÖSSE": _milliseconds(lambda: core.chunks.search(_USER, "GRÖSSE X")),
        f"context of texts {texts}": _milliseconds(lambda: core.chunks.recent(_USER)),
    }


def _milliseconds(call: Callable[[], object]) -> Figure:
    return fact(median(_seconds(call) for _ in range(_ROUNDS)) * 1000, "ms")


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _told(core: Core) -> float:
    """From the return of a write to the follower's being woken."""
    taken = []
    with core.feed.follow(lambda: _USER) as follower:
        for number in range(20):
            core.chunks.remember(_USER, f"told {number}", "fact")
            started = time.perf_counter()
            while not follower.read():
                follower.wait(5)
            taken.append(time.perf_counter() - started)
    return median(taken)
