"""Sixteen threads that write and recall at once: nothing is lost, torn or locked."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from memorist.core import Core
from memorist.ingestion.service import Message
from memorist.memories.values import Draft
from memorist.platform.values import OwnerFilter, Principal, Role
from memorist.times import SystemClock
from tests.recall.conftest import OpenCore, ask, found, make_tenant
from tests.support.models import WordEmbedder, WordReranker

THREADS = 16
ROUNDS = 8


def test_threads_that_ingest_and_recall_lose_nothing(open_with: OpenCore, rng: random.Random) -> None:
    core = open_with(WordEmbedder(), WordReranker(), clock=SystemClock())
    tenant = make_tenant(core)
    seed = rng.randrange(2**32)
    start = threading.Barrier(THREADS)

    def work(number: int) -> list[str]:
        own = random.Random(seed + number)
        # Four users, so that several threads share each shelf; a session for each thread.
        who = Principal(tenant, Role.USER, f"user-{number % 4}", session=f"s{number}")
        written: list[str] = []
        forgotten: set[str] = set()
        start.wait(30)
        for round_ in range(ROUNDS):
            word = f"word{number}x{round_}"
            step = own.choice(("messages", "facts", "many", "tool output"))
            if step == "messages":
                batch = [Message("user", f"{word} turn {turn}") for turn in range(3)]
                made = [result.memory for result in core.ingestion.add_messages(who, f"s{number}", batch)]
            elif step == "tool output":
                output = core.ingestion.add_tool_output(
                    who, f"s{number}", tool_call_id=word, tool_name="tool", content=f"{word} " * 50
                )
                made = [output.memory]
            else:
                count = 20 if step == "many" else 2
                drafts = [Draft(f"{word} fact {index}") for index in range(count)]
                made = [result.memory for result in core.memories.remember(who, drafts)]
            written += [memory.id for memory in made]
            assert made[0].id in found(core, who, word, top_k=20), "a write was not seen by the next recall"
            if own.random() < 0.4:
                gone = own.choice(made).id
                core.memories.forget(who, gone)
                forgotten.add(gone)
            recalled = ask(core, who, word, top_k=20, explain=True)
            assert not forgotten & {hit.memory.id for hit in recalled.hits}
            assert all(hit.memory.owner.user == who.user for hit in recalled.hits)
            assert all(0 <= hit.score <= 1 for hit in recalled.hits)
        return written

    with ThreadPoolExecutor(THREADS) as threads:
        written = [memory_id for ids in threads.map(work, range(THREADS)) for memory_id in ids]
    everybody = OwnerFilter(any_user=True, any_agent=True)
    stored = core.store.read(tenant, lambda tx: tx.memories.scan(everybody, "", 10_000))
    assert sorted(memory.id for memory in stored) == sorted(written)
    list(core.indexer.finish(tenant))
    assert core.store.check(thorough=False)[f"tenant {tenant}"] == "ok"
    for number in range(4):
        assert not ask(core, Principal(tenant, Role.USER, f"user-{number}"), "anything").degraded


def test_order_of_messages_is_kept_while_others_write(open_with: OpenCore) -> None:
    core = open_with(WordEmbedder(), clock=SystemClock())
    ada = Principal(make_tenant(core), Role.USER, "ada")

    def converse(number: int) -> None:
        for batch in range(5):
            core.ingestion.add_messages(ada, f"s{number}", [Message("user", f"{batch} {turn}") for turn in range(4)])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(converse, range(8)))
    for number in range(8):
        listed = core.memories.list(ada, session=f"s{number}", limit=100).items
        in_order = [memory.content for memory in sorted(listed, key=lambda memory: memory.id)]
        assert in_order == [f"{batch} {turn}" for batch in range(5) for turn in range(4)]


@pytest.mark.parametrize("what", ["recall", "indexer"])
def test_parts_that_are_made_late_are_made_once(open_with: OpenCore, what: str) -> None:
    core: Core = open_with(WordEmbedder())
    start = threading.Barrier(THREADS)

    def look(_: int) -> int:
        start.wait(30)
        return id(getattr(core, what))

    with ThreadPoolExecutor(THREADS) as threads:
        assert len(set(threads.map(look, range(THREADS)))) == 1
