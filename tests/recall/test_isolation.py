"""By property: random writes by everybody, recalled by everybody, checked against the rows themselves.

What is in the table says what should come back; the rules are told again here, apart from the code that they check.
"""

import random
import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.core import Core
from memorist.errors import Conflict
from memorist.ingestion.service import Message
from memorist.memories import writing
from memorist.memories.values import Draft, Kind, Memory, Status
from memorist.platform import access
from memorist.platform.values import Owner, OwnerFilter, Principal, Role
from memorist.recall.values import Question, Scope, Weights
from memorist.testing.clocks import START
from tests.recall.conftest import OpenCore, make_tenant
from tests.support.isolation import AGENTS, USERS, Who
from tests.support.models import WordEmbedder

EVERYBODY = OwnerFilter(any_user=True, any_agent=True)
# One name is that of a session and of a document.
SESSIONS = ["s1", "notes"]
CATEGORIES = [None, "goal", "decision"]
PROJECTS = [None, "shop"]
KEYWORD = re.compile(r"kw\d+x")

STEPS = (
    "fact", "fact", "message", "message", "tool output", "document", "edit", "forget", "archive", "supersede",
    "expire", "delete", "anonymize", "reset", "import",
)  # fmt: skip


def moment(rng: random.Random, likely: float) -> datetime | None:
    return START + timedelta(milliseconds=rng.randint(-20, 400)) if rng.random() < likely else None


def question(rng: random.Random) -> dict[str, Any]:
    """Most ask with one filter or none, some with several."""
    likely = rng.choice((0.0, 0.1, 0.4))
    return {
        "scope": rng.choice(list(Scope)) if rng.random() < likely + 0.1 else Scope.ANY,
        "source_kinds": rng.sample(list(Kind), rng.randint(1, 2)) if rng.random() < likely else None,
        "category": rng.choice(CATEGORIES) if rng.random() < likely else None,
        "project": rng.choice(PROJECTS) if rng.random() < likely else None,
        "as_of": moment(rng, likely),
        "known_at": moment(rng, likely),
        "after": moment(rng, likely),
        "before": moment(rng, likely),
    }


def caller(rng: random.Random) -> Who:
    role = rng.choice(list(Role))
    bound = rng.choice(USERS if role is Role.USER else [None, *USERS])
    named = rng.choice([None, None, *USERS])
    return Who(rng.randint(0, 1), role, bound, rng.choice([None, *AGENTS]), named, rng.choice([None, *AGENTS]))


def principal_of(who: Who, tenants: list[str], session: str | None) -> Principal:
    is_bound = who.bound_agent is not None
    credential = Principal(tenants[who.tenant], who.role, who.bound_user, who.bound_agent, agent_bound=is_bound)
    return access.acting(credential, user=who.header_user, agent=who.header_agent, session=session)


def class_of(memory: Memory, session: str | None) -> str:
    if memory.kind is Kind.DOCUMENT_CHUNK:
        return "tenant"
    if memory.kind is Kind.FACT:
        return "user" if memory.owner.user else "agent" if memory.owner.agent else "tenant"
    return "session" if session and memory.session == session else "history"


def is_shown(who: Who, memory: Memory, session: str | None) -> bool:
    owner = (who.tenant, memory.owner.user or "", memory.owner.agent or "")
    return who.is_shown(*owner) or (class_of(memory, session) == "session" and who.talks_in(*owner))


def should_come_back(
    memory: Memory, session: str | None, asked: dict[str, Any], weights: Weights, now: datetime
) -> bool:
    """Everything but who may see it."""
    past = asked["as_of"] is not None or asked["known_at"] is not None
    superseded = memory.superseded_by is not None or (memory.status is Status.ARCHIVED and memory.valid_to is not None)
    moment = memory.event_time or memory.created_at
    as_of, known_at = asked["as_of"], asked["known_at"]
    group = class_of(memory, session)
    if asked["scope"] is Scope.ANY:
        is_in_scope = (weights.earlier if group == "history" else getattr(weights, group)) > 0
    else:
        is_in_scope = asked["scope"] == group and (group != "tenant" or memory.kind is Kind.DOCUMENT_CHUNK)
    return all(
        (
            memory.status is Status.ACTIVE or (memory.status is Status.ARCHIVED and superseded),
            memory.anonymized_at is None,
            memory.expires_at is None or memory.expires_at > now,
            past or not superseded,
            as_of is None or memory.valid_from is None or memory.valid_from <= as_of,
            as_of is None or memory.valid_to is None or memory.valid_to > as_of,
            known_at is None or memory.created_at <= known_at,
            known_at is None or memory.status is not Status.ARCHIVED or memory.updated_at > known_at,
            is_in_scope,
            asked["source_kinds"] is None or memory.kind in asked["source_kinds"],
            asked["category"] is None or memory.category == asked["category"],
            asked["project"] is None or memory.project == asked["project"],
            asked["after"] is None or moment >= asked["after"],
            asked["before"] is None or moment < asked["before"],
        )
    )


class World:
    """Two tenants, written through two cores and searched through three, of which one suppresses some classes."""

    def __init__(self, cores: list[Core], weights: list[Weights]) -> None:
        self.cores = cores
        self.weights = weights
        self.tenants = [make_tenant(cores[0]), make_tenant(cores[0])]
        self.words = 0

    def keyword(self) -> str:
        self.words += 1
        return f"kw{self.words}x"

    def rows(self, tenant: str) -> list[Memory]:
        return self.cores[0].store.read(tenant, lambda tx: tx.memories.scan(EVERYBODY, "", 1000))

    # What happens

    def step(self, core: Core, step: str, rng: random.Random) -> None:
        tenant = rng.choice(self.tenants)
        user, agent = rng.choice([None, *USERS]), rng.choice([None, *AGENTS])
        if step in ("fact", "message", "tool output", "document"):
            self.write(core, step, tenant, user, agent, rng)
        elif step == "reset":
            # Rarely, so that there is something to see.
            if user is not None and rng.random() < 0.4:
                core.erasure.reset(Principal(tenant, Role.USER, user, agent))
        elif step == "import":
            other = self.tenants[tenant == self.tenants[0]]
            exported = list(core.transfer.export(Principal(tenant, Role.ADMIN, user, agent)))
            list(core.transfer.import_(Principal(other, Role.ADMIN), exported))
        elif candidates := self.rows(tenant):
            self.change(core, step, tenant, rng.choice(candidates), candidates[0])

    def write(
        self, core: Core, step: str, tenant: str, user: str | None, agent: str | None, rng: random.Random
    ) -> None:
        text = f"{self.keyword()} was said about {rng.choice(['tea', 'trains', 'taxes'])}"
        session = rng.choice(SESSIONS)
        event_time = moment(rng, 0.3)
        service = Principal(tenant, Role.SERVICE, user or "ada", agent)
        if step == "fact":
            draft = Draft(
                text,
                category=rng.choice(CATEGORIES),
                project=rng.choice(PROJECTS),
                session=rng.choice([None, *SESSIONS]),
                event_time=event_time,
                owner=Owner(user, agent),
            )
            core.memories.remember(Principal(tenant, Role.ADMIN), [draft])
        elif step == "message":
            messages = [Message("user", text, event_time=event_time), Message("assistant", f"{self.keyword()} indeed")]
            core.ingestion.add_messages(service, session, messages)
        elif step == "tool output":
            core.ingestion.add_tool_output(
                service, session, tool_call_id="call", tool_name="search", content=text, event_time=event_time
            )
        else:
            caller = Principal(tenant, Role.ADMIN, user, agent)
            core.ingestion.add_document(caller, title="Notes", content=text, document_id="notes")

    def change(self, core: Core, step: str, tenant: str, memory: Memory, other: Memory) -> None:
        admin = Principal(tenant, Role.ADMIN)
        now = core.clock.now()
        if step in ("edit", "forget"):
            if not memory.is_current(now):
                return
            try:
                if step == "forget":
                    core.memories.forget(admin, memory.id)
                else:
                    changes = {"content": f"{self.keyword()} is new", "category": "goal", "project": "shop"}
                    core.memories.edit(admin, memory.id, changes)
            except Conflict:
                pass
            return
        later = max(now, memory.updated_at + timedelta(microseconds=1))
        fields: dict[str, dict[str, Any]] = {
            "archive": {"status": Status.ARCHIVED, "valid_to": now},
            "supersede": {"status": Status.ARCHIVED, "superseded_by": other.id, "valid_to": now},
            "expire": {"expires_at": now},
            "delete": {"status": Status.HARD_DELETE_PENDING, "deleted_at": now},
            "anonymize": {"status": Status.ARCHIVED, "anonymized_at": now},
        }
        after = replace(memory, updated_at=later, **fields[step])
        core.store.write(tenant, lambda tx: writing.replace(tx, after, memory.updated_at))

    # What is seen

    def check(self, number: int, who: Who, session: str | None, asked: dict[str, Any], rng: random.Random) -> None:
        if not who.is_allowed:
            return
        core, weights = self.cores[number], self.weights[number]
        principal = principal_of(who, self.tenants, session)
        if (asked["scope"] is Scope.USER and principal.user is None) or (
            asked["scope"] is Scope.AGENT and (principal.agent is None or not principal.agent_vouched)
        ):
            return
        rows = {memory.id: memory for memory in self.rows(principal.tenant)}
        now = core.clock.now()
        allowed = {
            memory.id
            for memory in rows.values()
            if is_shown(who, memory, session) and should_come_back(memory, session, asked, weights, now)
        }
        elsewhere = [memory for tenant in self.tenants for memory in self.rows(tenant)]
        words = [KEYWORD.findall(memory.content)[0] for memory in elsewhere]
        wanted = set(rng.sample(words, min(3, len(words))))
        for query in [*wanted, " ".join(words[-40:]) or "anything", "tea trains taxes"]:
            hits = core.recall.recall(principal, Question(query, top_k=20, min_score=0.0, **asked)).hits
            found = [hit.memory.id for hit in hits]
            assert set(found) <= allowed, f"{principal} asked {asked} and was shown what is not allowed"
            assert len(found) == len(set(found))
            if query in wanted:
                due = {one for one in allowed if query in rows[one].content}
                # The turns around it, which are embedded with it, may come first.
                assert due <= set(found[: 3 * len(due)]), f"{principal} asked {query!r}, {asked}"


@pytest.fixture
def cores(open_with: OpenCore) -> list[Core]:
    suppressing = Weights(session=0, agent=0)
    return [open_with(WordEmbedder()), open_with(WordEmbedder()), open_with(WordEmbedder(), weights=suppressing)]


@settings(max_examples=12)
@given(st.integers(0, 2**32))
def test_everybody_recalls_what_is_theirs_and_nothing_else(cores: list[Core], seed: int) -> None:
    rng = random.Random(seed)
    world = World(cores, [Weights(), Weights(), Weights(session=0, agent=0)])
    for _ in range(rng.randint(3, 16)):
        for _ in range(rng.randint(1, 4)):
            world.step(rng.choice(world.cores[:2]), rng.choice(STEPS), rng)
        world.check(rng.randint(0, 2), caller(rng), rng.choice([None, *SESSIONS]), question(rng), rng)
