"""How soon meaning finds a thousand short messages that were written at once, as Memorist comes: with its own embedder,
and with all of them to be read for facts in the background.
"""

import tempfile
import time

from memorist.bootstrap import open_core
from memorist.ingestion.service import Message
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from memorist.settings import load_settings
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
        f"{_MESSAGES:,} messages, found by meaning after": at_most(_TARGET_S, beside, "s"),
        "the same where they are not read for facts": fact(min(alone), "s"),
    }


def _until_found(*, extract: bool) -> float:
    """Seconds from the request until all of the messages have their vectors, in a database of their own."""
    said = [Message("user", " ".join(sentence(number).split()[:_WORDS])) for number in range(_MESSAGES)]
    ada = Principal("bench", Role.USER, "ada")
    with tempfile.TemporaryDirectory(prefix="memorist-bench-", ignore_cleanup_errors=True) as folder:
        core = open_core(load_settings({"data": folder, "embedder": "local"}, environment={}).settings)
        try:
            core.identity.create_tenant(ada.tenant)
            core.start()
            core.recall.load()
            core.ingestion.add_messages(ada, "before", said[:1], extract=False)
            began = time.perf_counter()
            core.ingestion.add_messages(ada, "session", said, extract=extract)
            core.indexer.wait_for(ada.tenant, _GIVE_UP_S)
            seconds = time.perf_counter() - began
            assert not core.recall.recall(ada, Question("friday releases")).degraded
            return seconds
        finally:
            core.close()
