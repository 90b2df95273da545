"""A tenant as a year of use leaves it: memories of every kind and state, doubts and turns, all invented."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import numpy as np

from memorist.core import Core
from memorist.facts.values import Doubt
from memorist.ids import new_id
from memorist.memories import lifecycle
from memorist.memories.policy import Policy
from memorist.memories.values import Draft, Kind, Memory, Retention, Status, Trust
from memorist.models.values import Usage
from memorist.platform.values import Owner, Principal, Role
from memorist.ports import Writer
from memorist.recall.index.embedding import Window, windows_of
from memorist.turns.values import Turn, TurnEvent, TurnStatus
from memorist_bench.quality import Report
from memorist_bench.speed import save_vectors, synthetic_vectors
from memorist_bench.texts import conversation, questions

_USERS = 10
_AGENTS = (None, "coder", "planner")
_PROJECTS = ("github.com/example/shop", "github.com/example/site", None, None)
_KINDS = (Kind.FACT, Kind.CHAT_MESSAGE, Kind.CHAT_MESSAGE, Kind.TOOL_OUTPUT)
_TRUSTS = {Kind.FACT: Trust.USER, Kind.CHAT_MESSAGE: Trust.USER, Kind.TOOL_OUTPUT: Trust.TOOL}
_CATEGORIES = ("preference", "decision", "constraint", "person", None)
_DAYS = 365
_AT_ONCE = 1000
_POOL = 200
_TURNS_PER_MEMORY = 0.01
_DOUBTS_IN_A_BATCH = 2
_SHOWN = 20
_PARTS = 20


@dataclass(frozen=True, slots=True)
class Filled:
    """What is there to be asked for."""

    users: int
    memories: Sequence[Memory]
    turns: Sequence[str]
    documents: Sequence[str]

    def examples(self) -> list[dict[str, str]]:
        """What the addresses of views are made of, several times."""
        asked = questions(7)
        made = []
        for index, memory in enumerate(self.memories):
            words = [word.strip(",.;:").lower() for word in memory.content.split() if word.isascii()]
            longest = sorted(words, key=len)
            made.append(
                {
                    "id": memory.id,
                    "user": memory.user or "",
                    "session": memory.session or "",
                    "document": self.documents[index % len(self.documents)],
                    "word": longest[-1],
                    "other": longest[-2],
                    "typed": longest[-1][: 3 + index % 4],
                    "rare": f"note{memory.source_ref}",
                    "project": "github.com%2Fexample%2Fshop",
                    "turn": self.turns[index % len(self.turns)],
                    "question": "+".join(next(asked).rstrip("?").split()),
                }
            )
        return made


def fill(core: Core, tenant: str, prefix: str, memories: int, report: Report) -> Filled:
    """Store so many memories, half of them the first user's, and turns and doubts in proportion. Raises StoreError."""
    now = core.clock.now()
    random = Random(0)
    noise = np.random.default_rng(0)
    pool = _pool(core)
    shown: list[Memory] = []
    done = 0
    for batch in _batches(core, tenant, prefix, memories, now):
        embedded = synthetic_vectors(core.indexer.model, batch, pool, noise)

        def write(tx: Writer, batch: Sequence[Memory] = batch) -> None:
            for principal, own in _by_owner(tenant, batch):
                core.memories.rows.insert_all(tx, principal, own)
            _doubt(tx, batch, random, now)

        core.store.write(tenant, write)
        core.store.write(tenant, partial(save_vectors, embedded))
        own = [memory for memory in batch if memory.user == f"{prefix}-0" and _is_editable(memory)]
        shown += own[: max(1, _SHOWN * len(batch) // memories)]
        done += len(batch)
        report("Filling", done, memories)
    turns = _add_turns(core, tenant, prefix, max(1, int(memories * _TURNS_PER_MEMORY)), shown, now)
    return Filled(_USERS, shown[:_SHOWN], turns, _add_documents(core, tenant, prefix))


def _is_editable(memory: Memory) -> bool:
    return memory.kind is Kind.FACT and memory.status is Status.ACTIVE


def _pool(core: Core) -> list[Window]:
    if core.embedder is None:
        return []
    texts = [turn.text for number in range(_POOL // 20) for turn in conversation(number, 20)]
    return windows_of(core.embedder.embed_tokens(texts))


def _batches(core: Core, tenant: str, prefix: str, memories: int, now: datetime) -> Iterator[list[Memory]]:
    random = Random(1)
    batch: list[Memory] = []
    for number in range(memories):
        user = f"{prefix}-{0 if number % 2 else random.randrange(1, _USERS)}"
        principal = Principal(tenant, Role.USER, user, random.choice(_AGENTS), source="benchmark")
        # The newest come last, as they would.
        at = now - timedelta(days=_DAYS) * ((memories - number) / (memories + 1))
        memory = replace(core.memories.prepare(principal, _draft(number, random)), created_at=at, updated_at=at)
        batch.append(_moved(memory, random.random(), min(now, at + timedelta(days=1))))
        if len(batch) == _AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _draft(number: int, random: Random) -> Draft:
    kind = random.choice(_KINDS)
    (turn,) = conversation(number, 1)
    return Draft(
        f"{turn.text} (note{number})",
        kind,
        category=random.choice(_CATEGORIES) if kind is Kind.FACT else None,
        importance=random.randrange(10),
        meta={"role": "user", "speaker": turn.speaker} if kind is Kind.CHAT_MESSAGE else None,
        source_ref=str(number),
        trust=_TRUSTS[kind],
        project=random.choice(_PROJECTS),
        session=f"s{number // 20}",
        retention=Retention.KEEP if kind is Kind.FACT else Retention.POLICY,
        event_time=turn.time,
    )


def _moved(memory: Memory, chance: float, at: datetime) -> Memory:
    """Most are active; some were archived, a few deleted."""
    if chance < 0.06:
        return lifecycle.archive(memory, Policy(), at)
    if chance < 0.10:
        return lifecycle.soft_delete(memory, Policy(), at)
    return memory


def _by_owner(tenant: str, batch: Sequence[Memory]) -> Iterator[tuple[Principal, list[Memory]]]:
    owners: dict[tuple[str | None, str | None], list[Memory]] = {}
    for memory in batch:
        owners.setdefault((memory.owner.user, memory.owner.agent), []).append(memory)
    for (user, agent), own in owners.items():
        yield Principal(tenant, Role.USER, user, agent, source="benchmark"), own


def _doubt(tx: Writer, batch: Sequence[Memory], random: Random, now: datetime) -> None:
    """Doubt two facts of one owner, and of another."""
    facts: dict[Owner, list[Memory]] = {}
    for memory in batch:
        if memory.kind is Kind.FACT:
            facts.setdefault(memory.owner, []).append(memory)
    for owner, own in list(facts.items())[:_DOUBTS_IN_A_BATCH]:
        if len(own) > 1:
            older, newer = random.sample(own, 2)
            tx.facts.insert_doubt(
                Doubt(new_id("dbt"), owner, newer.id, older.id, "They may differ.", "rules", now, now)
            )


def _add_documents(core: Core, tenant: str, prefix: str) -> list[str]:
    """Documents of the first user, of several chunks each."""
    owner = Principal(tenant, Role.USER, f"{prefix}-0", source="benchmark")
    return [
        core.ingestion.add_document(
            owner,
            title=f"notes-{number}.md",
            content="\n\n".join(f"## Part {turn.speaker}\n\n{turn.text}" for turn in conversation(number, _PARTS)),
            media_type="text/markdown",
        ).document.id
        for number in range(_SHOWN)
    ]


def _add_turns(core: Core, tenant: str, prefix: str, count: int, shown: Sequence[Memory], now: datetime) -> list[str]:
    """Turns that ended well, a few minutes apart. Returns the newest of the first user."""
    made = [_turn(shown[number % len(shown)], now - timedelta(minutes=7 * (count - number))) for number in range(count)]

    def write(tx: Writer, some: Sequence[Turn]) -> None:
        for turn in some:
            tx.turns.insert(turn)
            for seq, (event, data) in enumerate(_events(turn), start=1):
                tx.turns.append_event(turn.id, TurnEvent(seq, event, data, turn.created_at))

    for start in range(0, count, _AT_ONCE):
        core.store.write(tenant, partial(write, some=made[start : start + _AT_ONCE]))
    return [turn.id for turn in made if turn.owner.user == f"{prefix}-0"][-_SHOWN:]


def _turn(about: Memory, at: datetime) -> Turn:
    return Turn(
        new_id("turn"),
        about.owner,
        about.session or "",
        TurnStatus.COMPLETED,
        at,
        answer=f"As you said: {about.content}",
        usage=Usage(1200, 180, 0.004),
        completed_at=at + timedelta(seconds=3),
        lease_until=at,
        attended_until=at,
    )


def _events(turn: Turn) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("turn.started", {"model": "invented"}),
        ("answer.delta", {"text": turn.answer}),
        ("synthesis", {"answer": turn.answer, **asdict(turn.usage)}),
        ("turn.completed", {"duration_ms": 3000}),
    ]
