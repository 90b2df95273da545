"""A language model that hangs, asks to wait, breaks off, talks nonsense or lies, in turns, extraction and judging.

Nothing is dropped in silence: a turn ends completed or failed, every message was read or somebody can see that it was
not, every fact is kept, and every pair was judged or waits for somebody.
"""

import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.facts.service import FactScope
from memorist.ingestion.service import Message
from memorist.memories.values import Kind
from memorist.platform.values import JobStatus, Principal, Role
from memorist.settings import Settings
from memorist.testing import FrozenClock, new_tenant
from memorist.turns import work as turn_work
from memorist.turns.values import TurnStatus
from tests.extraction.conftest import finds, memory
from tests.facts.test_llm_judge import FAULTS, answer, ruling
from tests.support.scripted_http import Body, Reply, ScriptedServer, scripted_server
from tests.support.talking import says
from tests.support.waiting import eventually
from tests.torture.outcome import Outcome

TOWNS = ("Berlin", "Kyoto", "Lisbon", "Oslo", "Porto", "Quito")
_SAID = re.compile(r"I prefer (\w{12})")
# How often a job is asked again at most, and some more.
_LOOKS = 20


class Model:
    """It answers well, lies or fails, as it is told for each call."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.server: ScriptedServer | None = None
        self.trouble = 0.0
        self.faults = 0
        self.lies = 0

    def __call__(self, reply: Reply, body: Body) -> None:
        assert self.server is not None
        if self._rng.random() < self.trouble:
            # A hang takes a second each, and is as rare as that.
            fault = self._rng.choice([*(name for name in FAULTS if name != "time-out"), "lie", "lie"])
            fault = "time-out" if self._rng.random() < 0.02 else fault
            if fault != "lie":
                self.faults += 1
                FAULTS[fault](self.server)(reply, body)
                return
            self.lies += 1
            answer(finds(memory("preference", "User prefers gold.", "I prefer gold")))(reply, body)
            return
        self._well(reply, body)

    def _well(self, reply: Reply, body: Body) -> None:
        asked = json.dumps(body["messages"])
        if body.get("stream"):
            says("Noted, I will remember that.")(reply, body)
        elif "older" in asked and "newer" in asked:
            answer(ruling("contradicts"))(reply, body)
        else:
            found = dict.fromkeys(_SAID.findall(asked))
            answer(finds(*(memory("preference", f"User prefers {one}.", f"I prefer {one}") for one in found)))(
                reply, body
            )


def run(folder: Path, databases: dict[str, str], *, seed: int, rounds: int) -> Outcome:
    """`rounds` times on each database a person takes a turn, has a transcript read, and says two things that clash."""
    outcome = Outcome("LLM faults")
    rng = random.Random(seed)
    model = Model(rng)
    with scripted_server(model) as server, _no_patience():
        model.server = server
        for name, url in databases.items():
            settings = Settings(
                data=folder / name, database=url, reranker="off", llm="openai:gpt-4o",
                llm_url=server.url, llm_api_key="not-a-key", llm_timeout_s=1, judge_model="openai:small",
            )  # fmt: skip
            clock = FrozenClock()
            core = open_core(settings, clock=clock, background=False)
            try:
                for _ in range(rounds):
                    _talk(core, clock, model, rng, outcome)
            finally:
                core.close()
    outcome.counts["calls"] = len(server.requests)
    outcome.counts["faults"], outcome.counts["lies"] = model.faults, model.lies
    return outcome


@contextmanager
def _no_patience() -> Iterator[None]:
    """A model that fails in a turn is asked again at once."""
    before, turn_work._LONGEST_WAIT_S = turn_work._LONGEST_WAIT_S, 0.0
    try:
        yield
    finally:
        turn_work._LONGEST_WAIT_S = before


def _talk(core: Core, clock: FrozenClock, model: Model, rng: random.Random, outcome: Outcome) -> None:
    tenant = core.identity.create_tenant(new_tenant())[0].id
    ada = Principal(tenant, Role.USER, "ada")
    model.trouble = rng.choice((0.3, 0.7, 1.0))
    turn = core.turns.start(ada, [Message("user", f"I prefer {_word(rng)}.")], session="talk")
    for _ in core.turns.follow(ada, turn.id):
        pass
    ended = core.turns.get(ada, turn.id)
    outcome.counts[f"turns {ended.status}"] += 1
    is_told = ended.status is TurnStatus.COMPLETED or (ended.status is TurnStatus.FAILED and ended.error is not None)
    outcome.check(is_told, f"a turn ended {ended.status} with {ended.error}")
    lies = model.lies
    words = [_word(rng) for _ in range(3)]
    core.extraction.read_transcript(ada, "\n".join(f"User: I prefer {word}." for word in words), session="read")
    facts = []
    for place in rng.sample(TOWNS, 2):
        facts.append(core.facts.remember(ada, f"My favourite town is {place}.", FactScope.USER).memory.id)
        clock.advance(timedelta(seconds=1))
    model.trouble = rng.choice((0.0, 0.0, 0.5, 1.0))
    # A turn that failed is told before it has learned from what was said; what it is at is left to it.
    eventually(lambda: core.turns.runner.running == 0)
    for _ in range(_LOOKS):
        clock.advance(timedelta(hours=6))
        core.jobs.run_due(tenant)
    _look(core, ada, words, facts, model.lies > lies, outcome)


def _look(core: Core, ada: Principal, words: list[str], facts: list[str], lied: bool, outcome: Outcome) -> None:
    outcome.counts["people"] += 1
    jobs = core.jobs.list(ada, limit=100).items
    waiting = [job for job in jobs if job.status is JobStatus.WAITING]
    dead = [job for job in jobs if job.status is JobStatus.DEAD]
    outcome.counts["dead letters"] += len(dead)
    outcome.check(not waiting, f"{len(waiting)} jobs wait for ever: {[job.error for job in waiting][:2]}")
    outcome.check(all(job.error for job in dead), "a job died without saying why")
    stored = core.memories.list(ada, limit=100).items
    said = [one for one in stored if one.kind is Kind.CHAT_MESSAGE]
    outcome.check(all(any(word in one.content for one in said) for word in words), "a message is lost")
    learned = " ".join(one.content for one in stored if one.kind is Kind.FACT)
    unseen = [word for word in words if word not in learned]
    is_visible = lied or any(job.kind == "extract" for job in dead)
    outcome.check(not unseen or is_visible, f"{len(unseen)} of {len(words)} words were dropped in silence")
    kept = core.store.read(ada.tenant, lambda tx: tx.memories.get_many(facts))
    outcome.check(len(kept) == len(facts), "a fact is lost")
    # Either of the two may come to be judged first, and then there is nothing left to judge for the other.
    events = [event for fact in facts for event in core.memories.events(ada, fact)]
    is_judged = any(event.event_type == "judged" for event in events) or any(job.kind == "judge" for job in dead)
    outcome.check(is_judged, "a pair was never judged, and nobody is told")


def _word(rng: random.Random) -> str:
    return "".join(rng.choices("abcdefghijklmnop", k=12))
