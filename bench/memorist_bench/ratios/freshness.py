"""How soon meaning finds a thousand short messages that were written at once, as Memorist comes: with its own embedder,
and with all of them to be read for facts in the background.
"""

import tempfile
import time
from dataclasses import dataclass

from memorist.bootstrap import open_core
from memorist.ingestion.service import Message
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from memorist.settings_sources import load_settings
from memorist_bench.ratios.results import Results, at_most, fact
from memorist_bench.ratios.sentences import sentence

_TARGET_S = 5.0
_MESSAGES = 1000
_WORDS = 8
_ROUNDS = 3
_GIVE_UP_S = 300.0


def run() -> Results:
    beside = [_until_found(extract=True) for _ in range(_ROUNDS)]
    alone = [_until_found(extract=False) for _ in range(_ROUNDS)]
    return {
        f"{_MESSAGES:,} messages, found by meaning after": at_most(_TARGET_S, [taken.wall_s for taken in beside], "s"),
        "the same where they are not read for facts": fact(min(taken.wall_s for taken in alone), "s"),
        "processor time of it, on all cores": fact(min(taken.processor_s for taken in beside), "s"),
    }


@dataclass(frozen=True, slots=True)
class _Taken:
    """Seconds, by the clock and of all cores together: a machine that is not idle shows in the first alone."""

    wall_s: float
    processor_s: float


def _until_found(*, extract: bool) -> _Taken:
    """From the request until all of the messages have their vectors, in a database of their own."""
    said = [Message("user", " ".join(sentence(number).split()[:_WORDS])) for number in range(_MESSAGES)]
    ada = Principal("bench", Role.USER, "ada")
    with tempfile.TemporaryDirectory(prefix="memorist-bench-", ignore_cleanup_errors=True) as folder:
        core = open_core(load_settings({"data": folder, "embedder": "local"}, environment={}).settings)
        try:
            core.identity.create_tenant(ada.tenant)
            core.start()
            core.recall.load()
            core.ingestion.add_messages(ada, "before", said[:1], extract=False)
            began, began_working = time.perf_counter(), time.process_time()
            core.ingestion.add_messages(ada, "session", said, extract=extract)
            core.indexer.wait_for(ada.tenant, _GIVE_UP_S)
            taken = _Taken(time.perf_counter() - began, time.process_time() - began_working)
            assert not core.recall.recall(ada, Question("friday releases")).degraded
            return taken
        finally:
            core.close()
