"""Whatever is erased, and of whom: nobody else's data change by a byte."""

import random
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.core import Core
from memorist.errors import Forbidden
from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Memory
from memorist.platform.values import Owner, OwnerFilter, Principal, Role
from memorist.testing import new_tenant

USERS = ("ada", "bob", "eve")
STEPS = ("fact", "named", "messages", "document", "output", "edit", "forget", "shared")
steps = st.tuples(st.sampled_from(STEPS), st.sampled_from(USERS), st.booleans(), st.integers(0, 5))
erasures = st.tuples(st.sampled_from(("one", "user", "tenant")), st.sampled_from(USERS), st.booleans())


def do(core: Core, tenant: str, step: tuple[str, str, bool, int], number: int) -> None:
    name, user, with_agent, some = step
    principal = Principal(tenant, Role.SERVICE, user, "coder" if with_agent else None)
    text = f"{name} {some} by somebody"
    if name == "fact":
        core.memories.remember(principal, [Draft(text)], idempotency_key=f"k{number}")
    elif name == "named":
        core.memories.remember(principal, [Draft(text, name=f"name-{number}")])
    elif name == "messages":
        core.ingestion.add_messages(
            principal, f"s{some}", [Message("user", text), Message("assistant", "yes")], extract=False
        )
    elif name == "document":
        core.ingestion.add_document(principal, title=f"title {some}", content=text * 3, shared=False)
    elif name == "output":
        core.ingestion.add_tool_output(principal, "s", tool_call_id="c", tool_name="t", content=text * 400)
    elif name == "shared":
        core.memories.remember(Principal(tenant, Role.ADMIN, user), [Draft(text, owner=Owner())])
    elif (items := core.memories.list(principal).items) and (mine := [m for m in items if m.owner.user == user]):
        memory = mine[some % len(mine)]
        with suppress(Forbidden):  # What all profiles share is not one's to change.
            if name == "edit":
                core.memories.edit(principal, memory.id, {"description": f"edited {number}"})
            else:
                core.memories.forget(principal, memory.id, idempotency_key=f"k{number}")


def rows_of(core: Core, tenant: str) -> dict[str | None, list[Any]]:
    """Everything that the export format knows, by whose it is."""
    admin = Principal(tenant, Role.ADMIN)
    memories = core.store.read(tenant, lambda tx: tx.memories.scan(_all(), "", 1000))
    events = core.store.read(tenant, lambda tx: tx.events.of([memory.id for memory in memories]))
    found: dict[str | None, list[Any]] = {user: [] for user in (*USERS, None)}
    owners = {memory.id: memory.owner.user for memory in memories}
    for memory in memories:
        found[memory.owner.user].append(memory)
    for event in events:
        # Who did it is left out of what is shared once that person is gone.
        found[owners[event.memory_id]].append((event.memory_id, event.event_type, event.payload))
    for document in core.ingestion.list_documents(admin, limit=100).items:
        found[document.owner.user].append(document)
    for user in USERS:
        counts = core.store.read(tenant, lambda tx, user=user: tx.erasure.count_of_user(user, core.clock.now()))
        found[user].append({table: counts[table] for table in ("idempotency_keys", "jobs", "doubts", "tool_outputs")})
    return found


def _all() -> OwnerFilter:
    return OwnerFilter(any_user=True, any_agent=True)


@settings(max_examples=15)
@given(st.lists(steps, min_size=4, max_size=14), erasures, st.randoms(use_true_random=False))
def test_erasing_one_leaves_all_others_as_they_were(
    core: Core, plan: list[tuple[str, str, bool, int]], erasure: tuple[str, str, bool], rng: random.Random
) -> None:
    here, elsewhere = (core.identity.create_tenant(new_tenant())[0].id for _ in range(2))
    for number, step in enumerate(plan):
        do(core, here, step, number)
        do(core, elsewhere, step, number)
    what, user, by_admin = erasure
    before, others = rows_of(core, here), rows_of(core, elsewhere)
    principal = Principal(here, Role.ADMIN) if by_admin or what == "tenant" else Principal(here, Role.USER, user)
    if what == "tenant":
        receipt = core.erasure.delete_tenant(principal, confirm=principal.tenant, at_once=True)
        assert not any(isinstance(row, Memory) for rows in rows_of(core, here).values() for row in rows)
    elif what == "user":
        receipt = core.erasure.purge_user(principal, user)
        after = rows_of(core, here)
        mine = after.pop(user)
        assert [row for row in mine if not isinstance(row, dict)] == []
        del before[user]
        assert after == before
    else:
        # A chunk would take its document along, which is tested elsewhere.
        mine = [row for row in before[user] if isinstance(row, Memory) and row.kind != "document_chunk"]
        if not mine:
            return
        gone = rng.choice(mine)
        receipt = core.erasure.erase(principal, [gone.id])
        after = rows_of(core, here)
        left = [row for row in before.pop(user) if not isinstance(row, dict) and not _names(row, gone.id)]
        assert [row for row in after.pop(user) if not isinstance(row, dict)] == left
        assert after == before
    assert receipt.verification is not None
    assert receipt.verification.ok, receipt.verification
    assert rows_of(core, elsewhere) == others
    assert core.store.driver.read(here, lambda connection: core.store._check_tenant(here, connection)) == "ok"


def _names(row: Any, memory_id: str) -> bool:
    return row.id == memory_id if isinstance(row, Memory) else isinstance(row, tuple) and row[0] == memory_id
