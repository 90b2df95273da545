"""Hard deletes, tenant deletion, the end of retention, and what was derived from what is gone."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.erasure.values import ErasureKind, ErasureStatus
from memorist.errors import Forbidden, InvalidField, InvalidId, MemoristError, NotFound, Unauthenticated
from memorist.ids import new_id
from memorist.memories import writing
from memorist.memories.policy import Derived, Policy
from memorist.memories.values import Draft, Memory, Status
from memorist.models.values import Usage
from memorist.platform.values import Event, Owner, Principal, Role
from memorist.testing import StepClock, make_memory, make_receipt, new_tenant
from memorist.testing.clocks import START, FrozenClock
from memorist.turns.run import Run
from memorist.turns.values import Turn, TurnEvent, TurnStatus
from tests.support.stores import bare

Held = Callable[[Iterable[str]], set[str]]
Remember = Callable[..., Memory]


def exists(core: Core, memory: Memory) -> bool:
    return core.store.read(memory.tenant, lambda tx: tx.memories.get(memory.id)) is not None


# Single memories


def test_erased_memory_is_nowhere_and_its_id_neither(
    core: Core, ada: Principal, remember: Remember, held_by: Held
) -> None:
    gone, kept = remember(ada, "quetzalcoatl plays the xylophone"), remember(ada, "a lazy dog slept all afternoon")
    core.memories.forget(ada, gone.id, idempotency_key="k")
    core.memories.edit(ada, kept.id, {"importance": 3}, idempotency_key="other")
    texts = ["quetzalcoatl plays the xylophone", gone.id.removeprefix("mem_")]
    assert held_by(texts) == set(texts)

    receipt = core.erasure.erase(ada, [gone.id])

    assert held_by(texts) == set()
    assert held_by([kept.content]) == {kept.content}
    assert {table: count for table, count in receipt.counts.items() if count} == {
        "memories": 1, "memory_index": 1, "memory_events": 2, "idempotency_keys": 1,
    }  # fmt: skip
    assert receipt.verification is not None
    assert receipt.verification.ok
    assert receipt.verification.ids == 1
    with pytest.raises(NotFound):
        core.memories.get(ada, gone.id)


def test_who_may_erase(core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Remember) -> None:
    mine = remember(ada)
    shared = remember(admin, "shared", owner=Owner())
    reader = Principal(ada.tenant, Role.READER, "ada")
    for principal, memory, error in ((bob, mine, NotFound), (reader, mine, Forbidden), (ada, shared, Forbidden)):
        with pytest.raises(error):
            core.erasure.erase(principal, [memory.id])
    with pytest.raises(NotFound):
        core.erasure.erase(ada, [mine.id, new_id("mem")])
    for ids, refusal in (([], InvalidField), (["nonsense"], InvalidId)):
        with pytest.raises(refusal):
            core.erasure.erase(ada, ids)
    assert exists(core, mine)
    assert core.erasure.receipts(admin) == []
    assert core.erasure.erase(admin, [mine.id, shared.id]).counts["memories"] == 2


def test_chunk_takes_its_document_along(core: Core, ada: Principal, held_by: Held) -> None:
    core.ingestion.add_document(ada, title="notes", content="one long story of a fox. " * 200, shared=False)
    chunks = core.memories.list(ada, limit=100).items
    assert len(chunks) > 1
    receipt = core.erasure.erase(ada, [chunks[0].id])
    assert (receipt.counts["documents"], receipt.counts["memories"]) == (1, len(chunks))
    assert core.memories.list(ada).items == ()
    assert held_by(["one long story of a fox"]) == set()


# What was derived


def derived_from(core: Core, ada: Principal, source: Memory) -> dict[str, Memory]:
    facts = {
        "by reference": make_memory(ada.tenant, content="learned by reference", source_ref=source.id),
        "by meta": make_memory(
            ada.tenant, content="learned by meta", meta={"from": [source.id, "x"], "kept": 1}, excerpt="a quote"
        ),
        "retired by it": make_memory(
            ada.tenant, content="was true before", superseded_by=source.id, status=Status.ARCHIVED
        ),
        "unrelated": make_memory(ada.tenant, content="another matter", source_ref=new_id("mem"), meta={"a": "b"}),
    }

    def work(tx: Any) -> None:
        for fact in facts.values():
            writing.insert(tx, fact)
            tx.events.append([Event(fact.id, "created", "test", START, "ada", {"source": source.id, "n": 1})])

    core.store.write(ada.tenant, work)
    return facts


def test_derived_facts_lose_their_source(core: Core, ada: Principal, remember: Remember, held_by: Held) -> None:
    source = remember(ada, "the source of it all")
    facts = derived_from(core, ada, source)
    receipt = core.erasure.erase(ada, [source.id])
    found = core.store.read(
        ada.tenant, lambda tx: {m.id: m for m in tx.memories.get_many([f.id for f in facts.values()])}
    )
    assert len(found) == 4
    assert found[facts["by reference"].id].source_ref is None
    assert found[facts["by meta"].id].meta == {"from": ["x"], "kept": 1}
    # It quoted what is gone.
    assert found[facts["by meta"].id].excerpt is None
    assert found[facts["retired by it"].id].superseded_by is None
    assert found[facts["unrelated"].id] == facts["unrelated"]
    assert receipt.counts["memories.references"] == 3
    assert held_by([source.id.removeprefix("mem_")]) == set()
    events = core.memories.events(ada, facts["by meta"].id)
    assert [(event.event_type, dict(event.payload)) for event in events] == [
        ("created", {"source": None, "n": 1}),
        ("detached", {"receipt": receipt.id}),
    ]


def test_derived_facts_go_too_where_the_policy_says_so(
    core: Core, ada: Principal, admin: Principal, remember: Remember
) -> None:
    core.policies.change(admin, {"derived_facts": Derived.ERASE})
    source = remember(ada, "the source of it all")
    facts = derived_from(core, ada, source)
    further = make_memory(ada.tenant, content="learned from what was learned", source_ref=facts["by meta"].id)
    core.store.write(ada.tenant, lambda tx: writing.insert(tx, further))
    receipt = core.erasure.erase(ada, [source.id])
    left = core.store.read(ada.tenant, lambda tx: tx.memories.get_many([f.id for f in (*facts.values(), further)]))
    assert {memory.content for memory in left} == {"was true before", "another matter"}
    assert receipt.counts["memories"] == 4


def test_fact_goes_and_what_it_was_learned_from_stays(core: Core, ada: Principal, remember: Remember) -> None:
    source = remember(ada, "the message that is still there")
    fact = make_memory(
        ada.tenant, content="what was concluded from it", source_ref=source.id, meta={"from": [source.id]}
    )
    core.store.write(ada.tenant, lambda tx: writing.insert(tx, fact))
    receipt = core.erasure.erase(ada, [fact.id])
    assert receipt.verification is not None
    assert receipt.verification.ok
    assert core.memories.get(ada, source.id).content == source.content


def test_turn_that_a_memory_comes_from_stays_without_a_word_of_it(
    core: Core, ada: Principal, remember: Remember, held_by: Held
) -> None:
    held = {"lease_until": START, "attended_until": START, "runner": "r"}
    turn = Turn(new_id("turn"), Owner("ada"), "", TurnStatus.RUNNING, START, **held)
    turn = replace(turn, session=turn.id)
    memory = remember(ada, "what was learned in a turn", source_ref=turn.id)

    def work(tx: Any) -> None:
        tx.turns.insert(turn)
        tx.turns.append_event(turn.id, TurnEvent(1, "turn.started", {"turn_id": turn.id}, START))
        tx.turns.append_event(turn.id, TurnEvent(2, "of another kind", {"text": memory.content}, START))
        tx.turns.finish(replace(turn, status=TurnStatus.COMPLETED, answer=memory.content, completed_at=START))

    core.store.write(ada.tenant, work)
    receipt = core.erasure.erase(ada, [memory.id])
    kept = core.turns.get(ada, turn.id)
    assert (kept.status, kept.answer) == (TurnStatus.COMPLETED, None)
    events = core.store.read(ada.tenant, lambda tx: tx.turns.events(turn.id, 0, 10))
    assert [dict(event.data) for event in events] == [{"turn_id": turn.id}, {}]
    assert held_by([memory.content, memory.id.removeprefix("mem_")]) == set()
    assert (receipt.counts["turns.answer"], receipt.counts["turn_events.data"]) == (1, 1)
    assert receipt.verification is not None
    assert receipt.verification.ok


def test_turns_that_quote_an_erased_memory_quote_it_no_more(
    core: Core, ada: Principal, remember: Remember, held_by: Held
) -> None:
    memory = remember(ada, "what was told to the model in a turn")
    turn = Turn(
        new_id("turn"), Owner("ada"), "a session", TurnStatus.RUNNING, START, lease_until=START, attended_until=START
    )
    quoting = {"injected": [{"id": memory.id, "content": memory.content}]}

    def work(tx: Any) -> None:
        tx.turns.insert(turn)
        tx.turns.append_event(turn.id, TurnEvent(1, "turn.started", {"n": 1}, START))
        tx.turns.append_event(turn.id, TurnEvent(2, "memory", quoting, START))

    core.store.write(ada.tenant, work)
    receipt = core.erasure.erase(ada, [memory.id])
    events = core.store.read(ada.tenant, lambda tx: tx.turns.events(turn.id, 0, 10))
    assert [(event.seq, dict(event.data)) for event in events] == [(1, {"n": 1}), (2, {})]
    assert held_by([memory.content, memory.id.removeprefix("mem_")]) == set()
    assert receipt.verification is not None
    assert receipt.verification.ok


@pytest.mark.parametrize("naming", ["memory.injected", "tool.completed"])
def test_turn_that_was_told_an_erased_memory_stays_without_a_word_of_it(
    core: Core, ada: Principal, remember: Remember, held_by: Held, naming: str
) -> None:
    memory, other = remember(ada, "Afraid of SPIDERS since childhood."), remember(ada, "Likes tea.")
    begun = [
        Turn(new_id("turn"), Owner("ada"), "", TurnStatus.RUNNING, START, lease_until=START, attended_until=START)
        for _ in range(2)
    ]
    told, untold = (replace(turn, session=turn.id) for turn in begun)

    def work(tx: Any) -> None:
        for turn, memory_id, answer in ((told, memory.id, memory.content), (untold, other.id, other.content)):
            tx.turns.insert(turn)
            said = [("turn.started", {"n": 1}), (naming, {"ids": [memory_id]}), ("answer.delta", {"text": answer})]
            for seq, (event, data) in enumerate([*said, ("synthesis", {"answer": answer})], start=1):
                tx.turns.append_event(turn.id, TurnEvent(seq, event, data, START))
            tx.turns.finish(replace(turn, status=TurnStatus.COMPLETED, answer=answer, completed_at=START))

    core.store.write(ada.tenant, work)
    receipt = core.erasure.erase(ada, [memory.id])
    assert (core.turns.get(ada, told.id).answer, core.turns.get(ada, untold.id).answer) == (None, other.content)
    events = core.turns.events(ada, told.id, limit=9)
    assert [dict(event.data) for event in events] == [{"n": 1}, {}, {}, {}]
    assert [bool(event.data) for event in core.turns.events(ada, untold.id, limit=9)] == [True] * 4
    assert held_by([memory.content, memory.id.removeprefix("mem_")]) == set()
    assert (receipt.counts["turns.answer"], receipt.counts["turn_events.data"]) == (1, 3)
    assert receipt.verification is not None
    assert receipt.verification.ok


def test_what_a_turn_says_after_the_erasure_of_what_it_was_told_goes_when_it_ends(
    core: Core, ada: Principal, remember: Remember
) -> None:
    memory, other = remember(ada, "Afraid of SPIDERS since childhood."), remember(ada, "Likes tea.")
    for told, answer in ((memory, None), (other, "Afraid of wasps.")):
        begun = Turn(
            new_id("turn"), Owner("ada"), "", TurnStatus.RUNNING, START, lease_until=START, attended_until=START
        )
        core.store.write(ada.tenant, partial(_insert_turn, begun))
        run = Run(core.store, FrozenClock(), lambda _: None, ada, begun)
        run.emit("memory.injected", {"ids": [told.id]})
        if told is memory:
            core.erasure.erase(ada, [memory.id])
        said = answer or memory.content
        run.emit("answer.delta", {"text": said})
        run.complete(said, Usage(), {"turn_id": begun.id}, START)
        assert core.turns.get(ada, begun.id).answer == answer
        events = core.turns.events(ada, begun.id, limit=9)
        assert [bool(event.data) for event in events] == [answer is not None, answer is not None, True]


def _insert_turn(turn: Turn, tx: Any) -> None:
    tx.turns.insert(turn)


def test_erasure_that_cannot_be_finished_keeps_no_other_from_it(own_database_url: str) -> None:
    core = open_core(bare(own_database_url))
    try:
        tenants = sorted(core.identity.create_tenant(new_tenant())[0].id for _ in range(2))
        for tenant, request in zip(tenants, [{}, {"user": "ada"}], strict=True):
            receipt = make_receipt(tenant, request=request)
            core.store.write(tenant, lambda tx, receipt=receipt: tx.receipts.insert(receipt))
        with pytest.raises(MemoristError, match="KeyError"):
            core.erasure.resume()
        statuses = [core.erasure.receipts(Principal(tenant, Role.ADMIN))[0].status for tenant in tenants]
        assert statuses == [ErasureStatus.RUNNING, ErasureStatus.DONE]
    finally:
        core.close()


# A tenant


def test_tenant_goes_at_once_and_takes_nobody_along(core: Core, remember: Remember, tenant: str) -> None:
    other = core.identity.create_tenant(new_tenant())[0].id
    for name in (tenant, other):
        remember(Principal(name, Role.USER, "ada"), "a text of this tenant")
    admin = Principal(tenant, Role.ADMIN)
    _, secret = core.identity.create_key(admin, Role.USER, user="ada", label="laptop")
    with pytest.raises(Forbidden):
        core.erasure.delete_tenant(Principal(tenant, Role.SERVICE), confirm=tenant, at_once=True)
    receipt = core.erasure.delete_tenant(admin, confirm=tenant, at_once=True)
    assert receipt.kind is ErasureKind.TENANT
    assert (receipt.counts["memories"], receipt.counts["api_keys"]) == (1, 1)
    assert receipt.verification is not None
    assert receipt.verification.ok
    with pytest.raises(Unauthenticated):
        core.identity.authenticate(secret)
    assert core.store.read(tenant, lambda tx: (tx.erasure.list_users(), tx.keys.all())) == ([], [])
    assert len(core.memories.list(Principal(other, Role.USER, "ada")).items) == 1
    assert core.erasure.get(admin, receipt.id) == receipt


def test_tenant_goes_after_thirty_days_and_its_keys_at_once(
    core: Core, tenant: str, ada: Principal, remember: Remember, clock: StepClock
) -> None:
    admin = Principal(tenant, Role.ADMIN)
    memory = remember(ada)
    _, secret = core.identity.create_key(admin, Role.ADMIN)
    receipt = core.erasure.delete_tenant(admin, confirm=tenant)
    assert receipt.status is ErasureStatus.DUE
    assert core.erasure.delete_tenant(admin, confirm=tenant).id == receipt.id
    with pytest.raises(Unauthenticated):
        core.identity.authenticate(secret)
    clock.advance(timedelta(days=29))
    core.erasure.resume()
    assert exists(core, memory)
    clock.advance(timedelta(days=1))
    assert receipt.id in [one.id for one in core.erasure.resume()]
    assert not exists(core, memory)
    assert core.erasure.get(admin, receipt.id).status is ErasureStatus.DONE


# The end of retention


def test_rows_past_retention_share_a_receipt_that_is_finished_a_day_later(
    core: Core, ada: Principal, admin: Principal, clock: StepClock
) -> None:
    rows = [
        make_memory(ada.tenant, content=f"an old message, number {n}", status=Status.HARD_DELETE_PENDING)
        for n in range(3)
    ]
    fact = make_memory(ada.tenant, content="learned of it", source_ref=rows[0].id)
    core.policies.change(admin, {"derived_facts": Derived.ERASE})
    core.store.write(ada.tenant, lambda tx: [writing.insert(tx, row) for row in (*rows, fact)])
    core.store.write(ada.tenant, lambda tx: core.erasure.purge_rows(tx, [rows[0].id, rows[1].id]))
    core.store.write(ada.tenant, lambda tx: core.erasure.purge_rows(tx, [rows[2].id, new_id("mem")]))
    assert not any(exists(core, row) for row in rows)
    (receipt,) = core.erasure.receipts(admin)
    assert (receipt.kind, receipt.status) == (ErasureKind.RETENTION, ErasureStatus.RUNNING)
    assert receipt.counts["memories"] == 3
    core.erasure.resume()
    assert core.erasure.get(admin, receipt.id).status is ErasureStatus.RUNNING
    clock.advance(timedelta(days=1))
    core.erasure.resume()
    done = core.erasure.get(admin, receipt.id)
    assert done.status is ErasureStatus.DONE
    assert done.verification is not None
    assert done.verification.ok
    # What was learned outlives the message, whatever becomes of it when somebody asks for an erasure.
    kept = core.store.read(ada.tenant, lambda tx: tx.memories.get(fact.id))
    assert kept is not None
    assert replace(kept, updated_at=START) == replace(fact, source_ref=None)


def test_policy_decides_by_default_for_detaching() -> None:
    assert Policy().derived_facts is Derived.DETACH


def test_memory_of_nobody_can_be_erased(core: Core, admin: Principal) -> None:
    memory = core.memories.remember(admin, [Draft("shared by all of us", owner=Owner())])[0].memory
    receipt = core.erasure.erase(admin, [memory.id])
    assert receipt.subject == ""
    assert not exists(core, memory)
