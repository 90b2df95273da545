"""What every store must do for events and feed."""

from dataclasses import replace
from datetime import timedelta

from memorist.ids import to_uuid
from memorist.memories.values import Governor, Kind
from memorist.platform.values import ERASED, Event, FeedPosition, HiddenOwner, Owner, OwnerFilter
from memorist.ports import Store
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import EVERYBODY, created, insert, insert_all
from memorist.testing.makers import make_event, make_memory, new_tenant


class EventConformance(StoreFixtures):
    """`tx.events`: the history of memories."""

    def test_events_come_back_in_the_order_they_were_written(self, store: Store, tenant: str) -> None:
        one, two = make_memory(tenant), make_memory(tenant)
        insert(store, one, make_event(one, actor="ada", payload={"n": 1}))
        insert(store, two, make_event(two))
        # The order is the database's, not that of the clock.
        earlier = START - timedelta(days=1)
        store.write(tenant, lambda tx: tx.events.append([make_event(one, "updated", created_at=earlier)]))
        store.write(tenant, lambda tx: tx.events.append([make_event(two, "deleted"), make_event(one, "deleted")]))
        events = store.read(tenant, lambda tx: tx.events.of([one.id]))
        assert [event.event_type for event in events] == ["created", "updated", "deleted"]
        assert replace(events[0], seq=0) == make_event(one, actor="ada", payload={"n": 1})
        both = store.read(tenant, lambda tx: tx.events.of([two.id, one.id]))
        assert [event.event_type for event in both] == ["created", "created", "updated", "deleted", "deleted"]
        assert [event.seq for event in both] == sorted({event.seq for event in both})

    def test_events_of_nothing_are_none(self, store: Store, tenant: str) -> None:
        store.write(tenant, lambda tx: tx.events.append([]))
        assert store.read(tenant, lambda tx: tx.events.of([])) == []
        assert store.read(tenant, lambda tx: tx.events.of([make_memory(tenant).id])) == []

    def test_last_events_come_newest_first(self, store: Store, tenant: str, neighbour: str) -> None:
        memory, other = make_memory(tenant), make_memory(tenant)
        for kind in ("created", "updated", "archived"):
            _tell(store, tenant, make_event(memory, kind), make_event(other, kind))

        def latest(of: str, limit: int) -> list[str]:
            return [event.event_type for event in store.read(of, lambda tx: tx.events.latest(memory.id, limit))]

        assert latest(tenant, 9) == ["archived", "updated", "created"]
        assert latest(tenant, 1) == ["archived"]
        assert latest(neighbour, 9) == []

    def test_redactions_come_newest_first_with_the_owner(self, store: Store, tenant: str) -> None:
        memories = [make_memory(tenant, owner=Owner("ada", "coder")), make_memory(tenant, owner=Owner())]
        insert_all(store, *memories)
        for memory in memories:
            _tell(store, tenant, make_event(memory, "redacted", actor="ada", payload={"rules": {"token": 2}}))
        newest, oldest = store.read(tenant, lambda tx: tx.events.redactions(None, 10))
        assert [newest.memory_id, oldest.memory_id] == [memory.id for memory in memories[::-1]]
        assert (newest.owner, oldest.owner) == (Owner(), Owner("ada", "coder"))
        assert (oldest.rules, oldest.source, oldest.actor, oldest.at) == ({"token": 2}, "library", "ada", START)
        assert store.read(tenant, lambda tx: tx.events.redactions(newest.seq, 10)) == [oldest]
        assert store.read(tenant, lambda tx: tx.events.redactions(None, 1)) == [newest]

    def test_redaction_without_counts_has_no_rules(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant)
        insert_all(store, memory)
        for rules in (5, ["token"], {"token": "two", "key": 1}):
            _tell(store, tenant, make_event(memory, "redacted", payload={"rules": rules}))
        notes = store.read(tenant, lambda tx: tx.events.redactions(None, 10))
        assert [note.rules for note in notes] == [{"key": 1}, {}, {}]

    def test_redactions_are_of_one_tenant_and_of_memories_that_are_there(self, store: Store, tenant: str) -> None:
        memory, erased = make_memory(tenant), make_memory(tenant)
        insert_all(store, memory, erased)
        store.write(tenant, lambda tx: tx.events.append(make_event(one, "redacted") for one in (memory, erased)))
        store.write(tenant, lambda tx: tx.events.append([make_event(memory, "edited")]))
        store.write(tenant, lambda tx: tx.erasure.erase_rows([erased.id]))
        assert [note.memory_id for note in store.read(tenant, lambda tx: tx.events.redactions(None, 10))] == [memory.id]
        assert store.read(new_tenant(), lambda tx: tx.events.redactions(None, 10)) == []


class FeedConformance(StoreFixtures):
    """`tx.feed`: changes in the order of their commits."""

    def test_feed_gives_events_in_their_order_with_their_owners(self, store: Store, tenant: str) -> None:
        start = store.read(tenant, lambda tx: tx.feed.head())
        owners = (Owner("ada"), Owner(), Owner("b", "c"))
        memories = [created(store, make_memory(tenant, owner=owner)) for owner in owners]
        page = store.read(tenant, lambda tx: tx.feed.read(start, 10))
        assert [(row.memory_id, row.event_type, row.owner) for row in page.rows] == [
            (memory.id, "created", memory.owner) for memory in memories
        ]
        assert [row.position for row in page.rows] == sorted(row.position for row in page.rows)
        assert (page.is_last, page.has_unsafe) == (True, False)
        assert store.read(tenant, lambda tx: tx.feed.head()) == page.rows[-1].position

    def test_feed_tells_what_only_its_user_reads(self, store: Store, tenant: str) -> None:
        start = store.read(tenant, lambda tx: tx.feed.head())
        entry, fact = make_memory(tenant, governed_by=Governor.COMPANION), make_memory(tenant)
        quoting = make_memory(tenant, kind=Kind.TOOL_OUTPUT, meta={"quotes": [entry.id]})
        plain = make_memory(tenant, kind=Kind.TOOL_OUTPUT, meta={"tool_name": "sql"})
        for memory in (entry, fact, quoting, plain):
            created(store, memory)
        ahead = store.read(tenant, lambda tx: tx.feed.read(start, 10)).rows
        last = ahead[-1].position
        back = store.read(tenant, lambda tx: tx.feed.back(last._replace(seq=last.seq + 1), 4))
        for rows in (ahead, back[::-1]):
            assert [row.is_entry for row in rows] == [True, False, True, False]
        assert [row.is_entry for row in store.read(tenant, lambda tx: tx.feed.last(9))] == [False, True]
        everybody, no_entries = [EVERYBODY], [replace(EVERYBODY, entries=False)]
        assert [row.is_in(everybody) for row in ahead] == [True] * 4
        assert [row.is_in(no_entries) for row in ahead] == [not row.is_entry for row in ahead]

    def test_feed_goes_on_after_a_position(self, store: Store, tenant: str) -> None:
        start = store.read(tenant, lambda tx: tx.feed.head())
        memories = [created(store, make_memory(tenant)) for _ in range(5)]
        found: list[str] = []
        page = store.read(tenant, lambda tx: tx.feed.read(start, 2))
        while page.rows:
            found += [row.memory_id for row in page.rows]
            page = store.read(tenant, lambda tx: tx.feed.read(page.rows[-1].position, 2))
        assert found == [memory.id for memory in memories]

    def test_feed_tells_of_an_erasure_without_naming_the_owner(self, store: Store, tenant: str) -> None:
        memory = created(store, make_memory(tenant, owner=Owner("ada", "coder")))
        start = store.read(tenant, lambda tx: tx.feed.head())
        hidden = HiddenOwner.of(memory.owner, "5a17")
        gone = to_uuid(memory.id).hex
        payload = {"id": gone, "salt": hidden.salt, "user": hidden.user, "agent": hidden.agent}
        store.write(tenant, lambda tx: tx.events.append([Event(gone, ERASED, "erasure", START, payload=payload)]))
        store.write(tenant, lambda tx: tx.erasure.erase_rows([memory.id]))
        (row,) = store.read(tenant, lambda tx: tx.feed.read(start, 10)).rows
        assert (row.event_type, row.memory_id) == ("erased", to_uuid(memory.id).hex)
        assert isinstance(row.owner, HiddenOwner)
        for part in (OwnerFilter("ada", "coder"), OwnerFilter("ada", any_agent=True), EVERYBODY):
            assert row.owner.is_in(part)
        for part in (OwnerFilter(), OwnerFilter("ada"), OwnerFilter("bob", any_agent=True), OwnerFilter("ada", "no")):
            assert not row.owner.is_in(part)
        assert "coder" not in str(row)

    def test_erasure_in_the_history_of_a_memory_is_nobodys(self, store: Store, tenant: str) -> None:
        """Whatever it says: an erasure names what is gone by its digits, and leaves nothing of its history."""
        memory = created(store, make_memory(tenant))
        start = store.read(tenant, lambda tx: tx.feed.head())
        gone = {"id": to_uuid(memory.id).hex, "salt": "5a17", "user": HiddenOwner.hide("5a17", "ada"), "agent": ""}
        for payload in ({}, gone, gone | {"id": memory.id}):
            _tell(store, tenant, make_event(memory, ERASED, payload=payload))
        rows = store.read(tenant, lambda tx: tx.feed.read(start, 10)).rows
        assert [(row.memory_id, row.event_type, row.owner) for row in rows] == [(memory.id, ERASED, None)] * 3

    def test_feed_is_read_back_from_a_position(self, store: Store, tenant: str, neighbour: str) -> None:
        memories = [created(store, make_memory(tenant)) for _ in range(3)]
        _tell(store, tenant, make_event(memories[0], "deleted", actor="ada"))
        head = store.read(tenant, lambda tx: tx.feed.head())
        found = store.read(tenant, lambda tx: tx.feed.back(FeedPosition(head.change, head.seq + 1), 2))
        assert [(row.memory_id, row.event_type) for row in found] == [
            (memories[0].id, "deleted"),
            (memories[2].id, "created"),
        ]
        assert (found[0].position, found[0].actor, found[0].source, found[0].at) == (head, "ada", "library", START)
        earlier = store.read(tenant, lambda tx: tx.feed.back(found[1].position, 9))
        assert [row.memory_id for row in earlier] == [memories[1].id, memories[0].id]
        assert store.read(neighbour, lambda tx: tx.feed.back(head, 9)) == []

    def test_last_changes_are_those_of_facts_newest_first(self, store: Store, tenant: str, neighbour: str) -> None:
        fact, other = make_memory(tenant), make_memory(tenant, kind=Kind.CHAT_MESSAGE)
        insert_all(store, fact, other, make_memory(neighbour))
        deleted = make_event(fact, "deleted")
        _tell(store, tenant, make_event(fact, "judged"), deleted, make_event(other, "deleted"))
        found = store.read(tenant, lambda tx: tx.feed.last(99))
        assert [(row.memory_id, row.event_type, row.owner) for row in found][:1] == [(fact.id, "deleted", fact.owner)]
        assert {row.memory_id for row in found} == {fact.id}
        assert store.read(tenant, lambda tx: tx.feed.last(1)) == []

    def test_feed_of_a_tenant_has_nothing_of_another(self, store: Store, tenant: str, neighbour: str) -> None:
        start = store.read(tenant, lambda tx: tx.feed.head())
        created(store, make_memory(neighbour))
        assert store.read(tenant, lambda tx: tx.feed.read(start, 10)).rows == ()

    def test_feed_knows_the_positions_that_it_gave(self, store: Store, tenant: str) -> None:
        start = store.read(tenant, lambda tx: tx.feed.head())
        memories = [created(store, make_memory(tenant)) for _ in range(2)]
        given = [row.position for row in store.read(tenant, lambda tx: tx.feed.read(start, 10)).rows]
        ahead = [FeedPosition(given[-1].change, given[-1].seq + 1), FeedPosition(given[-1].change + 1, 0)]
        known = store.read(tenant, lambda tx: [tx.feed.has_given(one) for one in (start, *given, *ahead)])
        assert known == [True, True, True, False, False]
        assert store.read(tenant, lambda tx: tx.feed.foreign_until()) == 0
        # Whatever is numbered anew comes before the rest, as it did.
        store.write(tenant, lambda tx: tx.feed.restart(given[0].seq))
        found = store.read(tenant, lambda tx: tx.feed.read(FeedPosition(0, 0), 10)).rows
        assert [row.memory_id for row in found] == [memory.id for memory in memories]
        assert store.read(tenant, lambda tx: [tx.feed.has_given(row.position) for row in found]) == [True, True]


def _tell(store: Store, tenant: str, *events: Event) -> None:
    store.write(tenant, lambda tx: tx.events.append(events))
