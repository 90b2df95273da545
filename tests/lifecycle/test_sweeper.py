"""What a sweep does, what it only reports, and how it goes on where it was interrupted."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memorist.context.companion import Category
from memorist.core import Core
from memorist.errors import Forbidden, IllegalTransition, InvalidField, NotFound
from memorist.memories import lifecycle, writing
from memorist.memories.policy import Mode, Policy
from memorist.memories.sweeper import Sweep, Sweeper
from memorist.memories.values import Draft, Kind, Memory, Retention, Status
from memorist.platform.values import Event, OwnerFilter, Principal, Role
from memorist.ports import Reader, Writer
from memorist.recall.values import Question
from memorist.testing import FrozenClock, make_event, make_memory, new_tenant
from memorist.testing.clocks import START
from tests.support.stores import checked

DAY = timedelta(days=1)
STEP = timedelta(microseconds=1)
Sweeping = Callable[[], Sweep]
Remember = Callable[..., Memory]


def stored(core: Core, memory: Memory) -> Memory | None:
    return core.store.read(memory.tenant, lambda tx: tx.memories.get(memory.id))


def types(core: Core, memory: Memory) -> list[str]:
    return [event.event_type for event in core.store.read(memory.tenant, lambda tx: tx.events.of([memory.id]))]


def test_policy_carries_a_memory_through_all_five_states(
    core: Core, clock: FrozenClock, remember: Remember, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    memory = remember()
    enforce()
    seen = []
    for wait, move in ((90 * DAY, "archived"), (60 * DAY, "deleted"), (7 * DAY, "hard_delete_pending")):
        clock.advance(wait - STEP)
        assert sweep().done == {}
        clock.advance(STEP)
        assert sweep().done == {move: {"fact": 1}}
        assert sweep().done == {}, "a sweep of the same moment moves nothing again"
        row = stored(core, memory)
        assert row is not None
        seen.append(row.status)
    assert seen == [Status.ARCHIVED, Status.SOFT_DELETED, Status.HARD_DELETE_PENDING]
    clock.advance(STEP)
    assert sweep().done == {"purged": {"fact": 1}}
    assert stored(core, memory) is None
    assert types(core, memory) == []
    assert checked(core.store, memory.tenant) == "ok"


def test_what_happened_to_a_purged_memory_is_told_to_admins_without_a_word_of_it(
    core: Core,
    clock: FrozenClock,
    remember: Remember,
    sweep: Sweeping,
    enforce: Callable[..., None],
    admin: Principal,
    ada: Principal,
) -> None:
    memory = remember("The kiln is hot.")
    core.memories.edit(ada, memory.id, {"content": "The kiln is cold."})
    enforce()
    for _ in range(4):
        clock.advance(200 * DAY)
        sweep()
    assert stored(core, memory) is None
    told = core.memories.events(admin, memory.id)
    assert [(event.event_type, event.payload) for event in told] == [
        ("created", {}),
        ("updated", {}),
        ("archived", {"from": "active", "to": "archived"}),
        ("deleted", {"from": "archived", "to": "soft_deleted"}),
        ("hard_delete_pending", {"from": "soft_deleted", "to": "hard_delete_pending"}),
        ("purged", {"from": "hard_delete_pending", "to": "purged"}),
    ]
    assert {event.actor for event in told} == {None}
    assert core.memories.events(replace(admin, user="bob"), memory.id) == told
    with pytest.raises(NotFound):
        core.memories.events(ada, memory.id)


def test_that_a_memory_was_erased_is_told_to_admins(
    core: Core, remember: Remember, ada: Principal, admin: Principal
) -> None:
    memory = remember()
    core.erasure.erase(ada, [memory.id])
    told = core.memories.events(admin, memory.id)
    assert [(event.event_type, event.payload) for event in told] == [("erased", {"to": "purged"})]
    with pytest.raises(NotFound):
        core.memories.events(ada, memory.id)


def test_of_an_erased_entry_of_the_companion_nobody_is_told(core: Core, ada: Principal, admin: Principal) -> None:
    entry = core.companion.add(ada, "Vegetarian. No fish.", Category.PREFERENCE).memory
    core.companion.erase(ada, entry.id)
    for who in (ada, admin, replace(admin, user="ada", on_behalf=True)):
        with pytest.raises(NotFound):
            core.memories.events(who, entry.id)


def test_each_step_is_one_event_of_the_sweeper(
    core: Core, clock: FrozenClock, remember: Remember, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    memory = remember()
    enforce()
    for _ in range(3):
        clock.advance(200 * DAY)
        sweep()
    events = core.store.read(memory.tenant, lambda tx: tx.events.of([memory.id]))
    assert [(event.event_type, event.source) for event in events] == [
        ("created", "library"),
        ("archived", "sweeper"),
        ("deleted", "sweeper"),
        ("hard_delete_pending", "sweeper"),
    ]
    assert events[1].payload == {"from": "active", "to": "archived"}


def test_observing_changes_nothing_and_reports(
    core: Core,
    clock: FrozenClock,
    remember: Remember,
    sweep: Sweeping,
    admin: Principal,
    enforce: Callable[..., None],
) -> None:
    enforce(mode="observe")
    memory, said = remember(), remember("hello", kind=Kind.CHAT_MESSAGE)
    clock.advance(90 * DAY)
    found = sweep()
    assert (found.mode, found.done) == (Mode.OBSERVE, {})
    assert found.due == {"archived": {"chat_message": 1, "fact": 1}}
    assert sorted(found.samples["archived"]) == sorted([memory.id, said.id])
    assert stored(core, memory) == memory
    assert core.sweeper.report(admin) == found.to_record()


def test_kept_memories_never_age(
    core: Core, clock: FrozenClock, remember: Remember, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    memory = remember(retention=Retention.KEEP)
    enforce(active_days=0, grace_days=0)
    clock.advance(10_000 * DAY)
    assert sweep().done == {}
    assert stored(core, memory) == memory


def test_ttl_is_enforced_where_the_policy_only_observes(
    core: Core,
    clock: FrozenClock,
    remember: Remember,
    sweep: Sweeping,
    ada: Principal,
    enforce: Callable[..., None],
) -> None:
    enforce(mode="observe")
    memory = remember(ttl=timedelta(minutes=1), retention=Retention.KEEP)
    clock.advance(timedelta(minutes=1) - STEP)
    assert core.memories.get(ada, memory.id).id == memory.id
    clock.advance(STEP)
    with pytest.raises(NotFound):
        core.memories.get(ada, memory.id)
    assert sweep().done == {"expired": {"fact": 1}}
    row = stored(core, memory)
    assert row is not None
    assert (row.status, row.deleted_at) == (Status.SOFT_DELETED, clock.now())
    assert types(core, memory) == ["created", "expired"]
    clock.advance(1000 * DAY)
    assert sweep().done == {}, "whether it is purged is for the policy to say"


@pytest.mark.parametrize("archive", [True, False])
def test_what_is_past_its_ttl_leaves_as_the_policy_would_have_it(
    core: Core,
    clock: FrozenClock,
    remember: Remember,
    sweep: Sweeping,
    enforce: Callable[..., None],
    ada: Principal,
    archive: bool,
) -> None:
    enforce(archive=archive)
    memory = remember(ttl=timedelta(minutes=1))
    clock.advance(timedelta(minutes=2))
    foreseen = core.retention.read(ada, memory.id)
    assert sweep().done == {"expired": {"fact": 1}}
    seen = core.retention.read(ada, memory.id)
    way = [Status.ARCHIVED] if archive else []
    way += [Status.SOFT_DELETED, Status.HARD_DELETE_PENDING]
    assert foreseen.status == seen.status == way[0]
    assert foreseen.archive_at == seen.archive_at == (memory.expires_at if archive else None)
    for status in way[1:]:
        clock.advance(60 * DAY)
        sweep()
        assert core.retention.read(ada, memory.id).status is status
    events = [event for event in core.memories.events(ada, memory.id) if event.event_type != "created"]
    assert [event.payload["to"] for event in events] == way
    assert events[0].event_type == "expired"
    assert events[0].payload["from"] == "active"


@pytest.mark.parametrize("swept", [True, False])
def test_no_read_shows_what_is_past_its_ttl(
    core: Core, clock: FrozenClock, remember: Remember, sweep: Sweeping, ada: Principal, swept: bool
) -> None:
    memory = remember(ttl=timedelta(seconds=1), name="kiln", description="the kiln")
    question = Question("kiln", min_score=0)
    assert len(core.recall.recall(ada, question).hits) == 1
    clock.advance(timedelta(seconds=1))
    if swept:
        sweep()
    assert core.recall.recall(ada, question).hits == ()
    assert core.recall.recall(ada, replace(question, known_at=START + STEP)).hits == ()
    assert core.memories.list(ada).items == ()
    archived = core.memories.list(ada, status=Status.ARCHIVED).items
    assert [one.id for one in archived] == [memory.id], "it takes the policy's way out"
    assert core.memories.get(ada, memory.id).status is Status.ARCHIVED
    assert core.composer.section(ada, None).count == 0
    if not swept:
        with pytest.raises(IllegalTransition):
            core.retention.archive(ada, memory.id)
        assert core.memories.forget(ada, memory.id).status is Status.SOFT_DELETED
    assert core.memories.remember(ada, [Draft("The kiln is cold.", name="kiln")])[0].was_new


def test_restored_memory_ages_from_then_on_and_survives_a_change_of_the_policy(
    core: Core, clock: FrozenClock, remember: Remember, sweep: Sweeping, ada: Principal, enforce: Callable[..., None]
) -> None:
    memory = remember()
    enforce()
    clock.advance(90 * DAY)
    sweep()
    clock.advance(10 * DAY)
    back = core.retention.restore(ada, memory.id)
    assert back.archive_at == clock.now() + 90 * DAY
    assert sweep().done == {}
    enforce(active_days=30)
    row = stored(core, memory)
    assert row is not None
    assert row.archive_at == clock.now() + 30 * DAY


def test_restoring_ends_with_the_window_whether_or_not_it_was_swept(
    core: Core, clock: FrozenClock, remember: Remember, ada: Principal, admin: Principal
) -> None:
    first, second = remember(), remember("The shed is red.")
    for memory in (first, second):
        core.memories.forget(ada, memory.id)
    clock.advance(7 * DAY - STEP)
    assert core.retention.restore(admin, first.id).status is Status.ACTIVE
    clock.advance(STEP)
    for principal in (ada, admin):
        with pytest.raises(IllegalTransition, match="over"):
            core.retention.restore(principal, second.id)


def test_restored_name_that_is_taken_by_now_is_refused(core: Core, ada: Principal, remember: Remember) -> None:
    from memorist.errors import NameTaken

    memory = remember(name="kiln")
    core.memories.forget(ada, memory.id)
    remember("another", name="kiln")
    with pytest.raises(NameTaken):
        core.retention.restore(ada, memory.id)


def test_replaced_fact_is_restored_by_the_same_call(core: Core, ada: Principal, clock: FrozenClock) -> None:
    older, newer = retire(core, ada, clock)
    back = core.retention.restore(ada, older.id)
    assert (back.status, back.superseded_by, back.valid_to) == (Status.ACTIVE, None, None)
    row = stored(core, newer)
    assert row is not None
    assert row.status is Status.ACTIVE


# Anonymization


def retire(core: Core, ada: Principal, clock: FrozenClock, **fields: Any) -> tuple[Memory, Memory]:
    """A fact that another took the place of, as `facts.service` leaves it."""
    drafts = [Draft("Ada lives in Lyon.", **fields), Draft("Ada lives in Oslo.")]
    older, newer = (one.memory for one in core.memories.remember(ada, drafts))

    def work(tx: Writer) -> None:
        archived = lifecycle.archive(older, Policy(), clock.now())
        assert writing.replace(tx, replace(archived, superseded_by=newer.id, valid_to=clock.now()), older.updated_at)
        details = {"reason": "Lyon is not Oslo"}
        tx.events.append(
            [
                Event(older.id, "superseded", "test", clock.now(), "ada", {"by": newer.id, **details}),
                Event(newer.id, "supersedes", "test", clock.now(), "ada", {"id": older.id, **details}),
            ]
        )

    core.store.write(ada.tenant, work)
    return older, newer


def test_retired_fact_is_anonymized_after_its_time(
    core: Core, clock: FrozenClock, ada: Principal, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    older, newer = retire(core, ada, clock, meta={"city": "Lyon"}, source_ref="turn-Lyon", session="s-1")
    core.memories.edit(ada, newer.id, {"importance": 3})
    enforce()
    clock.advance(30 * DAY)
    assert sweep().done == {}, "it was retired a version after it was written"
    clock.advance(STEP)
    assert sweep().done == {"anonymized": {"fact": 1}}
    row = stored(core, older)
    assert row is not None
    assert (row.content, row.owner.user, row.meta, row.session) == ("[REDACTED]", None, None, None)
    assert (row.status, row.superseded_by, row.anonymized_at) == (Status.ARCHIVED, newer.id, clock.now())
    events = core.store.read(ada.tenant, lambda tx: tx.events.of([older.id, newer.id]))
    assert "Lyon" not in str(events)
    assert [event.event_type for event in events if event.memory_id == older.id] == [
        "created",
        "superseded",
        "anonymized",
    ]
    assert core.memories.list(ada, status=Status.ARCHIVED).items == ()
    history = core.facts.history(replace(ada, role=Role.ADMIN, user=None), newer.id)
    assert [one.memory.id for one in history] == [older.id, newer.id]
    assert [event.event_type for event in history[0].events] == ["created", "superseded", "anonymized"]
    assert checked(core.store, ada.tenant) == "ok"


def test_what_repeats_an_anonymized_fact_goes(
    core: Core, clock: FrozenClock, ada: Principal, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    older, newer = retire(core, ada, clock)
    outputs = [
        core.ingestion.add_tool_output(
            ada, "s", tool_call_id="call", tool_name="recall", content=f"it said: {one.content}", quotes=[one.id]
        )
        for one in (older, newer)
    ]
    enforce()
    clock.advance(31 * DAY)
    assert sweep().done == {"anonymized": {"fact": 1}}
    assert [stored(core, one.memory) is None for one in outputs] == [True, False]
    assert checked(core.store, ada.tenant) == "ok"


def test_anonymized_fact_is_never_recalled_and_has_no_words_left(
    core: Core, clock: FrozenClock, ada: Principal, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    older, newer = retire(core, ada, clock)
    before = clock.now()
    enforce(anonymize_after_days=0)
    clock.advance(STEP)
    question = Question("Lyon REDACTED", min_score=0, known_at=before, top_k=20)
    assert older.id in {hit.memory.id for hit in core.recall.recall(ada, question).hits}
    clock.advance(DAY)
    sweep()
    for asked in (question, replace(question, known_at=None), replace(question, known_at=None, as_of=before)):
        assert older.id not in {hit.memory.id for hit in core.recall.recall(ada, asked).hits}
    shared = core.store.read(ada.tenant, lambda tx: tx.index.load(None, "", 10))
    assert [(row.memory_id, row.terms, row.vectors) for row in shared] == [(older.id, b"", None)]
    assert newer.id in {row.memory_id for row in core.store.read(ada.tenant, lambda tx: tx.index.load("ada", "", 10))}
    with pytest.raises(NotFound):
        core.retention.restore(ada, older.id)


def test_anonymization_waits_while_the_policy_observes(
    core: Core, clock: FrozenClock, ada: Principal, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    enforce(mode="observe")
    older, _ = retire(core, ada, clock)
    clock.advance(31 * DAY)
    assert sweep().due == {"anonymized": {"fact": 1}}
    row = stored(core, older)
    assert row is not None
    assert row.content == "Ada lives in Lyon."


def test_retired_fact_that_is_to_be_deleted_is_not_announced_as_anonymized_too(
    core: Core, clock: FrozenClock, ada: Principal, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    retire(core, ada, clock, ttl=20 * DAY)
    clock.advance(31 * DAY)
    assert core.sweeper.dry_run(ada.tenant).due == {"expired": {"fact": 1}}
    enforce()
    assert sweep().done == {"expired": {"fact": 1}}


def test_archived_memory_that_nothing_replaced_is_not_anonymized(
    core: Core, clock: FrozenClock, remember: Remember, ada: Principal, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    memory = remember(retention=Retention.KEEP)
    core.retention.archive(ada, memory.id)
    enforce()
    clock.advance(1000 * DAY)
    assert sweep().done == {}


# Policies


def test_dry_run_of_a_sweep_tells_what_an_enforced_one_does(
    core: Core, clock: FrozenClock, remember: Remember, tenant: str, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    for number in range(7):
        remember(f"message {number}", kind=Kind.CHAT_MESSAGE)
    remember(ttl=DAY)
    clock.advance(100 * DAY)
    told = core.sweeper.dry_run(tenant)
    assert told.due == {"archived": {"chat_message": 7}, "expired": {"fact": 1}}
    assert len(told.samples["archived"]) == 5
    enforce()
    assert sweep().done == told.due


def test_change_of_the_policy_is_resumed_where_it_was_interrupted(
    core: Core, tenant: str, admin: Principal, remember: Remember, sweep: Sweeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = [remember(f"text {number}") for number in range(5)]
    monkeypatch.setattr("memorist.memories.policies._BATCH", 2)
    monkeypatch.setattr(core.policies, "recompute", lambda *_, **__: False)
    change = core.policies.change(admin, {"active_days": 1})
    assert (change.touched, change.pending) == ({"fact": 5}, True)
    monkeypatch.undo()
    monkeypatch.setattr("memorist.memories.policies._BATCH", 2)

    def done() -> int:
        rows = core.store.read(tenant, lambda tx: tx.memories.get_many([memory.id for memory in memories]))
        return sum(row.archive_at == START + DAY for row in rows)

    assert done() == 0
    assert not core.policies.recompute(tenant)
    assert done() == 2
    sweep()
    assert done() == 5
    assert core.store.read(tenant, core.policies.is_settled)


def test_rows_from_before_there_were_deadlines_get_theirs(
    core: Core, tenant: str, clock: FrozenClock, ada: Principal, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    old = make_memory(tenant, retention=Retention.POLICY, created_at=START - 100 * DAY)

    def work(tx: Writer) -> None:
        writing.insert(tx, old)
        tx.events.append([make_event(old)])

    core.store.write(tenant, work)
    enforce()
    assert sweep().done == {"archived": {"fact": 1}}
    row = stored(core, old)
    assert row is not None
    assert (row.archive_at, row.retention_expires_at) == (old.created_at + 90 * DAY, old.created_at + 150 * DAY)
    del clock, ada


def test_imported_rows_get_the_deadlines_of_the_policy_here(
    core: Core, tenant: str, admin: Principal, remember: Remember, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    memory = remember()
    lines = list(core.transfer.export(admin))
    enforce(active_days=3)
    sweep()
    core.store.write(tenant, lambda tx: tx.erasure.erase_rows([memory.id]))
    for _ in core.transfer.import_(admin, lines):
        pass
    assert core.store.read(tenant, core.policies.is_settled) is False
    sweep()
    row = stored(core, memory)
    assert row is not None
    assert row.archive_at == memory.created_at + 3 * DAY


def test_policy_moves_with_the_rows_of_a_tenant(
    core: Core, admin: Principal, remember: Remember, enforce: Callable[..., None]
) -> None:
    """Otherwise the first sweep in the new place would give them the deadlines of the default."""
    enforce(active_days=3000, kinds={"fact": {"archive_days": 7}})
    memory = remember()
    lines = list(core.transfer.export(admin))
    there = replace(admin, tenant=core.identity.create_tenant(new_tenant())[0].id)
    *_, report = core.transfer.preview(there, lines)
    assert (report.imported, report.policy_set, core.policies.get(there).revision) == (1, 1, 0)
    *_, done = core.transfer.import_(there, lines)
    assert done == report
    *_, again = core.transfer.import_(there, lines)
    assert (again.policy_set, again.policy_left) == (0, 0)
    assert core.policies.get(there).policy == core.policies.get(admin).policy
    core.sweeper.sweep(there.tenant)
    row = core.store.read(there.tenant, lambda tx: tx.memories.get(memory.id))
    assert row is not None
    assert row.archive_at == memory.created_at + 3000 * DAY
    assert list(core.transfer.export(there))[1] == lines[1]
    # One that is set in the new place stays, and an admin's export for one user says nothing of it.
    core.policies.change(there, {"active_days": 5})
    for _ in core.transfer.import_(there, lines):
        pass
    assert core.policies.get(there).policy.windows.active_days == 5
    assert '"policy"' not in list(core.transfer.export(replace(admin, user="ada")))[1][:12]


def test_policy_in_an_export_is_checked_and_is_an_admins_to_set(core: Core, ada: Principal, admin: Principal) -> None:
    header = next(iter(core.transfer.export(admin)))
    for principal in (ada, replace(admin, user="ada")):
        list(core.transfer.import_(principal, [header, '{"policy": {"active_days": 3}}']))
        assert core.policies.get(admin).revision == 0
    with pytest.raises(InvalidField, match="Line 2: "):
        list(core.transfer.import_(admin, [header, '{"policy": {"active_days": -3}}']))


def test_two_who_change_the_policy_at_once_do_not_overwrite_each_other(core: Core, admin: Principal) -> None:
    from memorist.errors import Conflict

    current = core.policies.get(admin)
    other = replace(current, revision=1, policy=Policy(anonymize_after_days=5), created_at=START)
    original = core.policies.in_force
    core.store.write(admin.tenant, lambda tx: tx.policies.insert(other))

    def stale(tx: Reader) -> Any:
        return replace(original(tx), revision=0)

    core.policies.in_force = stale  # type: ignore[method-assign]
    with pytest.raises(Conflict):
        core.policies.change(admin, {"mode": "enforce"})


def test_only_admins_see_and_change_policies(core: Core, ada: Principal) -> None:
    service = replace(ada, role=Role.SERVICE)
    for principal in (ada, service):
        for call in (core.policies.get, core.policies.history, core.sweeper.report):
            with pytest.raises(Forbidden):
                call(principal)
        with pytest.raises(Forbidden):
            core.policies.change(principal, {"mode": "enforce"})


def test_edit_that_began_before_a_policy_change_does_not_bring_old_deadlines_back(
    core: Core, admin: Principal, ada: Principal, remember: Remember
) -> None:
    memory = remember()
    core.policies.change(admin, {"active_days": 1})
    stale = replace(memory, importance=7, updated_at=memory.updated_at + DAY)
    assert not core.store.write(ada.tenant, lambda tx: writing.replace(tx, stale, memory.updated_at))


def test_old_answers_and_done_jobs_go_with_a_sweep(
    core: Core, clock: FrozenClock, ada: Principal, sweep: Sweeping
) -> None:
    core.memories.remember(ada, [Draft("x")], idempotency_key="k")
    clock.advance(DAY + STEP)
    sweep()
    left = core.store.write(ada.tenant, lambda tx: tx.idempotency.drop_expired(clock.now()))
    assert left == 0


def test_sweeper_of_the_server_sweeps_every_tenant_and_stops(
    core: Core, clock: FrozenClock, remember: Remember, enforce: Callable[..., None]
) -> None:
    import threading

    memory = remember(ttl=DAY)
    clock.advance(DAY)
    moved = threading.Event()

    class Told(Sweeper):
        def sweep(self, tenant: str) -> Sweep:
            found = super().sweep(tenant)
            if tenant == memory.tenant and found.done:
                moved.set()
            return found

    sweeper = Told(core.store, clock, core.policies, core.erasure)
    sweeper.start(0.01)
    assert moved.wait(20)
    sweeper.close()
    row = stored(core, memory)
    assert row is not None
    assert row.status is Status.ARCHIVED
    assert core.store.read(memory.tenant, lambda tx: tx.memories.scan(OwnerFilter(any_user=True), "", 5)) == [row]
    del enforce
