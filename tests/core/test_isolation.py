"""Promise 4, by property: random calls of many callers against a simple model. Nobody sees or changes another's."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.core import Core
from memorist.errors import Conflict, Forbidden, IdempotencyMismatch, NotFound
from memorist.memories.values import Draft, Status
from memorist.platform import access
from memorist.platform.values import Owner, Principal, Role
from memorist.testing import new_tenant

USERS = ("ada", "bob", "eve")
AGENTS = (None, "coder", "writer")
CALLS = ("remember", "get", "edit", "forget", "list", "events", "section", "export", "reset", "import")

callers = st.builds(
    lambda tenant, role, user, agent, nobody, named: (
        tenant,
        role,
        None if nobody and role is not Role.USER else user,
        agent,
        named and role in (Role.USER, Role.READER),
    ),
    st.integers(0, 1),
    st.sampled_from(Role),
    st.sampled_from(USERS),
    st.sampled_from(AGENTS),
    st.booleans(),
    st.booleans(),
)
# Resets are rare, so that there is something to see.
steps = st.tuples(
    callers,
    st.sampled_from((*CALLS[:-2] * 3, "remember", "remember", "remember", "reset", "import")),
    st.integers(0, 10_000),
    st.sampled_from((*USERS, None)),
    st.sampled_from(AGENTS),
)


@dataclass
class Row:
    tenant: str
    owner: Owner
    content: str
    alive: bool = True
    named: bool = False


@dataclass
class Model:
    """What should be stored, and the rules in other words than the code's."""

    rows: dict[str, Row] = field(default_factory=dict)

    @staticmethod
    def sees(caller: Principal, row: Row) -> bool:
        if row.tenant != caller.tenant:
            return False
        user, agent = row.owner.user, row.owner.agent
        if caller.role is Role.ADMIN and caller.user is None:
            return caller.agent is None or agent in (None, caller.agent)
        if user is None:
            return agent is None or (agent == caller.agent and caller.agent_vouched)
        return user == caller.user and (caller.agent is None or agent in (None, caller.agent))

    def writes(self, caller: Principal, row: Row) -> bool:
        if caller.role is Role.READER or not self.sees(caller, row):
            return False
        # What all profiles share by its name is not an agent's to change.
        shared = row.owner == Owner() or (row.named and row.owner.agent is None and caller.agent is not None)
        return not shared or caller.role is Role.ADMIN

    def shows(self, caller: Principal, row: Row) -> bool:
        """Whether a list has it: what is deleted for those who may bring it back, and of no agent that is not named."""
        # Who names no agent acts in the profile `default`.
        other_profile = caller.user is not None and caller.agent is None and row.owner.agent not in (None, "default")
        return self.finds(caller, row) and not other_profile

    def finds(self, caller: Principal, row: Row) -> bool:
        """Whether its history and an export are of it, too: what is deleted for those who may bring it back."""
        restores = caller.role is not Role.READER and (row.owner != Owner() or caller.role is Role.ADMIN)
        return self.sees(caller, row) and (row.alive or restores)

    @staticmethod
    def owns(caller: Principal, row: Row) -> bool:
        """What a reset takes."""
        return (
            row.tenant == caller.tenant
            and caller.user in (None, row.owner.user)
            and caller.agent in (None, row.owner.agent)
        )

    def visible(self, caller: Principal, *, alive: bool = True) -> set[str]:
        return {
            memory_id for memory_id, row in self.rows.items() if self.sees(caller, row) and (row.alive or not alive)
        }


class World:
    """Makes calls on the core and on the model, and compares."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.model = Model()
        self.tenants = [core.identity.create_tenant(new_tenant())[0].id for _ in range(2)]
        self.calls = 0
        self.texts = 0

    def step(self, caller: tuple, call: str, number: int, user: str | None, agent: str | None) -> None:
        tenant, role, acting_user, acting_agent, named = caller
        principal = Principal(self.tenants[tenant], role, acting_user, acting_agent)
        if named:
            # The credential is the user's; the agent is only what the request says.
            principal = access.acting(replace(principal, agent=None), agent=acting_agent)
        self.calls += 1
        getattr(self, call if call != "import" else "import_")(principal, number, Owner(user, agent))

    def pick(self, number: int) -> str | None:
        """Any memory of any tenant, mostly: a caller may have learnt the id somewhere."""
        ids = list(self.model.rows)
        return ids[number % len(ids)] if ids else None

    def new_text(self) -> str:
        self.texts += 1
        return f"text {self.texts}"

    def remember(self, caller: Principal, number: int, owner: Owner) -> None:
        wanted = owner if number % 3 == 0 else None
        text = self.new_text()
        expected = wanted or Owner(caller.user, caller.agent)
        row = Row(caller.tenant, expected, text)
        nobody = wanted is None and expected == Owner() and caller.role is not Role.ADMIN
        if nobody or not self.model.writes(caller, row):
            with pytest.raises(Forbidden):
                self.core.memories.remember(caller, [Draft(text, owner=wanted)])
            return
        memory = self.core.memories.remember(caller, [Draft(text, owner=wanted)])[0].memory
        assert (memory.tenant, memory.owner) == (caller.tenant, expected)
        self.model.rows[memory.id] = row

    def get(self, caller: Principal, number: int, _: Owner) -> None:
        memory_id = self.pick(number)
        if memory_id is None:
            return
        row = self.model.rows[memory_id]
        if row.alive and self.model.sees(caller, row):
            found = self.core.memories.get(caller, memory_id)
            assert (found.content, found.owner, found.tenant) == (row.content, row.owner, caller.tenant)
        else:
            with pytest.raises(NotFound):
                self.core.memories.get(caller, memory_id)

    def change(self, caller: Principal, memory_id: str, work: Callable[[], Any]) -> bool:
        row = self.model.rows[memory_id]
        if not row.alive or not self.model.sees(caller, row):
            with pytest.raises(NotFound):
                work()
            return False
        if not self.model.writes(caller, row):
            with pytest.raises(Forbidden):
                work()
            return False
        work()
        return True

    def edit(self, caller: Principal, number: int, _: Owner) -> None:
        memory_id, text = self.pick(number), self.new_text()
        if memory_id is None:
            return
        key = f"key-{number}" if number % 4 == 0 else None
        work = lambda: self.core.memories.edit(caller, memory_id, {"content": text}, idempotency_key=key)  # noqa: E731
        try:
            if self.change(caller, memory_id, work):
                self.model.rows[memory_id].content = text
        except IdempotencyMismatch:
            pass  # This caller used that key before, with another text.

    def forget(self, caller: Principal, number: int, _: Owner) -> None:
        memory_id = self.pick(number)
        if memory_id is not None and self.change(
            caller, memory_id, lambda: self.core.memories.forget(caller, memory_id)
        ):
            self.model.rows[memory_id].alive = False

    def list(self, caller: Principal, number: int, _: Owner) -> None:
        found: dict[str, str] = {}
        cursor = None
        status = Status.ACTIVE if number % 4 else Status.SOFT_DELETED
        while True:
            page = self.core.memories.list(caller, limit=1 + number % 30, cursor=cursor, status=status)
            found |= {memory.id: memory.content for memory in page.items}
            cursor = page.next_cursor
            if cursor is None:
                break
        alive = status is Status.ACTIVE
        rows = self.model.rows
        assert found == {
            memory_id: rows[memory_id].content
            for memory_id in self.model.visible(caller, alive=False)
            if rows[memory_id].alive is alive and self.model.shows(caller, rows[memory_id])
        }

    def events(self, caller: Principal, number: int, _: Owner) -> None:
        memory_id = self.pick(number)
        if memory_id is None:
            return
        if self.model.finds(caller, self.model.rows[memory_id]):
            events = self.core.memories.events(caller, memory_id)
            assert events[0].event_type == "created"
            assert {event.memory_id for event in events} == {memory_id}
        else:
            with pytest.raises(NotFound):
                self.core.memories.events(caller, memory_id)

    def section(self, caller: Principal, number: int, _: Owner) -> None:
        name = f"name-{number}"
        draft = Draft(self.new_text(), name=name, description=f"of {caller.tenant} {caller.user} {caller.agent}")
        try:
            memory = self.core.memories.remember(caller, [draft])[0].memory
            self.model.rows[memory.id] = Row(caller.tenant, memory.owner, draft.content, named=True)
        except (Forbidden, Conflict):
            pass
        reader = replace(caller, role=Role.READER)
        text = self.core.composer.section(reader, None).text
        for tenant in self.tenants:
            assert tenant == caller.tenant or tenant not in text
        for user in USERS:
            assert user == caller.user or f" {user} " not in text

    def export(self, caller: Principal, *_: Any) -> None:
        lines = list(self.core.transfer.export(caller))[1:-1]
        ids = [line.split('"id": "')[1][:30] for line in lines]
        assert len(ids) == len(set(ids))
        assert set(ids) == {memory_id for memory_id, row in self.model.rows.items() if self.model.finds(caller, row)}

    def reset(self, caller: Principal, *_: Any) -> None:
        if caller.role is Role.READER or (caller.user is None and caller.role is not Role.ADMIN):
            with pytest.raises(Forbidden):
                self.core.erasure.reset(caller)
            return
        gone = {memory_id for memory_id, row in self.model.rows.items() if self.model.owns(caller, row)}
        assert self.core.erasure.reset(caller).memories == len(gone)
        for memory_id in gone:
            del self.model.rows[memory_id]

    def import_(self, caller: Principal, number: int, _: Owner) -> None:
        """Import what another caller exported: only what the importer may write gets in, and nothing is replaced."""
        other = Principal(self.tenants[number % 2], Role.ADMIN)
        lines = list(self.core.transfer.export(other))
        ids = self.model.visible(other, alive=False)
        rows = [Row(caller.tenant, self.model.rows[m].owner, self.model.rows[m].content) for m in ids]
        # What the whole tenant shares is left out, and counted, for those who may not write it.
        shared = [row for row in rows if row.owner == Owner() and caller.role is not Role.ADMIN]
        owned = [row for row in rows if row not in shared]
        allowed = caller.role is not Role.READER and all(self.model.writes(caller, row) for row in owned)
        if caller.tenant != other.tenant:
            # It would store the same ids a second time, which this model does not follow.
            return
        if not allowed:
            with pytest.raises(Forbidden):
                list(self.core.transfer.import_(caller, lines))
            return
        *_rest, report = self.core.transfer.import_(caller, lines)
        assert (report.imported, report.already_there, report.conflicting) == (0, len(owned), 0)
        assert report.shared == len(shared)

    def verify(self) -> None:
        """Everything stored is what the model says, and nothing else."""
        for tenant in self.tenants:
            admin = Principal(tenant, Role.ADMIN)
            stored = {
                memory.id: (memory.owner, memory.content, memory.status is Status.ACTIVE)
                for part in (Status.ACTIVE, Status.SOFT_DELETED)
                for memory in self._all(admin, part)
            }
            assert stored == {
                memory_id: (row.owner, row.content, row.alive)
                for memory_id, row in self.model.rows.items()
                if row.tenant == tenant
            }
            finding = self.core.store.driver.read(
                tenant, lambda connection, tenant=tenant: self.core.store._check_tenant(tenant, connection)
            )
            assert finding == "ok"

    def _all(self, admin: Principal, status: Status) -> list:
        found, cursor = [], None
        while True:
            page = self.core.memories.list(admin, limit=100, cursor=cursor, status=status)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                return found


EXAMPLES = {"sqlite": 50, "postgres": 15}


def test_no_caller_ever_sees_or_changes_what_is_not_its_own(core: Core, request: pytest.FixtureRequest) -> None:
    database = request.node.callspec.params["database_url"]
    made = 0

    @settings(max_examples=EXAMPLES[database])
    @given(st.lists(steps, min_size=60, max_size=90))
    def walk(walked: list[tuple]) -> None:
        nonlocal made
        world = World(core)
        for step in walked:
            world.step(*step)
        world.verify()
        made += world.calls

    walk()
    print(f"{made} calls on {database}")
    assert made >= EXAMPLES[database] * 60 - 600
    assert database != "sqlite" or made >= 2000
