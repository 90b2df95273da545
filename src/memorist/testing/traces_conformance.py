"""What every store must do to look back, at redactions and at what a turn left behind: a part of StoreConformance."""

from datetime import timedelta

from memorist.memories import writing
from memorist.memories.values import Kind, Memory, Status
from memorist.platform.values import Owner
from memorist.ports import Store
from memorist.testing.clocks import START
from memorist.testing.makers import make_event, make_memory, new_tenant

_MINUTE = timedelta(minutes=1)
_ADA = Owner("ada")


class TracesConformance:
    def test_redactions_come_newest_first_with_the_owner(self, store: Store, tenant: str) -> None:
        memories = [make_memory(tenant, owner=Owner("ada", "coder")), make_memory(tenant, owner=Owner())]
        keep(store, tenant, *memories)
        for memory in memories:
            told = make_event(memory, "redacted", actor="ada", payload={"rules": {"token": 2}})
            store.write(tenant, lambda tx, told=told: tx.events.append([told]))  # type: ignore[misc]
        newest, oldest = store.read(tenant, lambda tx: tx.events.redactions(None, 10))
        assert [newest.memory_id, oldest.memory_id] == [memory.id for memory in memories[::-1]]
        assert (newest.owner, oldest.owner) == (Owner(), Owner("ada", "coder"))
        assert (oldest.rules, oldest.source, oldest.actor, oldest.at) == ({"token": 2}, "library", "ada", START)
        assert store.read(tenant, lambda tx: tx.events.redactions(newest.seq, 10)) == [oldest]
        assert store.read(tenant, lambda tx: tx.events.redactions(None, 1)) == [newest]

    def test_redactions_are_of_one_tenant_and_of_memories_that_are_there(self, store: Store, tenant: str) -> None:
        memory, erased = make_memory(tenant), make_memory(tenant)
        keep(store, tenant, memory, erased)
        store.write(tenant, lambda tx: tx.events.append(make_event(one, "redacted") for one in (memory, erased)))
        store.write(tenant, lambda tx: tx.events.append([make_event(memory, "edited")]))
        store.write(tenant, lambda tx: tx.memories.erase([erased.id]))
        assert [note.memory_id for note in store.read(tenant, lambda tx: tx.events.redactions(None, 10))] == [memory.id]
        assert store.read(new_tenant(), lambda tx: tx.events.redactions(None, 10)) == []

    def test_facts_of_a_source_come_oldest_first_in_any_state(self, store: Store, tenant: str) -> None:
        late = make_memory(tenant, source_ref="turn_1", created_at=START + _MINUTE)
        early = make_memory(tenant, source_ref="turn_1", status=Status.ARCHIVED)
        other = make_memory(tenant, source_ref="turn_2")
        message = make_memory(tenant, source_ref="turn_1", kind=Kind.CHAT_MESSAGE)
        keep(store, tenant, late, early, other, message)
        assert store.read(tenant, lambda tx: tx.surroundings.list_learned("turn_1", 10)) == [early, late]
        assert store.read(tenant, lambda tx: tx.surroundings.list_learned("turn_1", 1)) == [early]

    def test_what_was_said_is_of_one_session_owner_and_time(self, store: Store, tenant: str) -> None:
        def said(minutes: int, owner: Owner = _ADA, session: str = "s1", kind: Kind = Kind.CHAT_MESSAGE) -> Memory:
            return make_memory(tenant, owner=owner, session=session, kind=kind, created_at=START + minutes * _MINUTE)

        wanted = [said(1), said(2)]
        others = [said(0), said(3), said(1, Owner("bob")), said(1, Owner("ada", "coder")), said(1, session="s2")]
        keep(store, tenant, *wanted, *others, said(1, kind=Kind.FACT))
        found = store.read(
            tenant, lambda tx: tx.surroundings.list_said(Owner("ada"), "s1", START + _MINUTE, START + 2 * _MINUTE, 10)
        )
        assert found == wanted


def keep(store: Store, tenant: str, *memories: Memory) -> None:
    for memory in memories:
        assert store.write(tenant, lambda tx, memory=memory: writing.insert(tx, memory))  # type: ignore[misc]
