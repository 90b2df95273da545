"""What every store must do with `tx.surroundings`: what stands around a memory or was left behind."""

from datetime import timedelta
from typing import Any

from memorist.memories.values import Kind, Memory, Status
from memorist.platform.values import Owner, OwnerFilter
from memorist.ports import Store
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import insert_all
from memorist.testing.makers import make_document, make_memory

_CODER = Owner("ada", "coder")
_MINUTE = timedelta(minutes=1)
_ADA = Owner("ada")


class SurroundingsConformance(StoreFixtures):
    """`tx.surroundings`: what stands around a memory, and what a turn or a sample left behind."""

    def test_what_was_said_around_a_memory_is_of_its_owner_and_session(self, store: Store, tenant: str) -> None:
        said = [make_memory(tenant, session="s1", kind=Kind.CHAT_MESSAGE) for _ in range(3)]
        fact = make_memory(tenant, session="s1")
        said += [make_memory(tenant, session="s1", kind=Kind.TOOL_OUTPUT) for _ in range(2)]
        others = [
            make_memory(tenant, session="s1", kind=Kind.CHAT_MESSAGE, status=Status.SOFT_DELETED),
            make_memory(tenant, session="s1", kind=Kind.CHAT_MESSAGE, owner=_CODER),
            make_memory(tenant, session="s2", kind=Kind.CHAT_MESSAGE),
        ]
        insert_all(store, *said, fact, *others)

        def around(session: str, before: int, after: int) -> tuple[list[Memory], list[Memory]]:
            return store.read(tenant, lambda tx: tx.surroundings.said_around(fact, session, before, after))

        assert around("s1", 9, 9) == (said[:3], said[3:])
        assert around("s1", 2, 1) == (said[1:3], said[3:4])
        assert around("", 9, 9) == ([], [])

    def test_chunks_around_one_are_of_its_document_and_owner(self, store: Store, tenant: str) -> None:
        def chunk(**fields: Any) -> Memory:
            return make_memory(tenant, **({"kind": Kind.DOCUMENT_CHUNK, "source_ref": "d1"} | fields))

        chunks = [chunk(status=Status.ARCHIVED), *(chunk() for _ in range(4))]
        others = [chunk(source_ref="d2"), chunk(owner=_CODER), chunk(status=Status.SOFT_DELETED), chunk(kind=Kind.FACT)]
        insert_all(store, *chunks, *others)

        def around(before: int, after: int) -> tuple[list[Memory], list[Memory]]:
            return store.read(tenant, lambda tx: tx.surroundings.chunks_around(chunks[2], before, after))

        assert around(9, 9) == (chunks[:2], chunks[3:])
        assert around(1, 1) == (chunks[1:2], chunks[3:4])
        document = make_document(id="d1", owner=chunks[0].owner)

        def read(limit: int, **where: str) -> list[Memory]:
            return store.read(tenant, lambda tx: tx.surroundings.document_chunks(document, limit, **where))

        assert read(9) == chunks
        assert read(2, after=chunks[0].id) == chunks[1:3]
        assert read(2, before=chunks[3].id) == chunks[1:3]

    def test_memories_of_a_session_and_of_a_document_are_found_in_any_state(self, store: Store, tenant: str) -> None:
        said = make_memory(tenant, session="s1")
        gone = make_memory(tenant, session="s1", status=Status.SOFT_DELETED)
        part = make_memory(tenant, kind=Kind.DOCUMENT_CHUNK, source_ref="d1", status=Status.ARCHIVED)
        insert_all(store, said, gone, part, make_memory(tenant, session="s1", owner=_CODER), make_memory(tenant))
        found = store.read(tenant, lambda tx: tx.surroundings.list_session_ids(Owner("ada"), "s1", 10))
        assert found == sorted([said.id, gone.id])
        assert store.read(tenant, lambda tx: tx.surroundings.list_chunk_ids(Owner("ada"), "d1", 10)) == [part.id]
        assert store.read(tenant, lambda tx: tx.surroundings.list_session_ids(Owner("ada"), "", 10)) == []

    def test_facts_of_a_source_come_oldest_first_in_any_state(self, store: Store, tenant: str) -> None:
        late = make_memory(tenant, source_ref="turn_1", created_at=START + _MINUTE)
        early = make_memory(tenant, source_ref="turn_1", status=Status.ARCHIVED)
        other = make_memory(tenant, source_ref="turn_2")
        message = make_memory(tenant, source_ref="turn_1", kind=Kind.CHAT_MESSAGE)
        insert_all(store, late, early, other, message)
        assert store.read(tenant, lambda tx: tx.surroundings.list_learned("turn_1", 10)) == [early, late]
        assert store.read(tenant, lambda tx: tx.surroundings.list_learned("turn_1", 1)) == [early]

    def test_what_was_said_is_of_one_session_owner_and_time(self, store: Store, tenant: str) -> None:
        def said(minutes: int, owner: Owner = _ADA, session: str = "s1", kind: Kind = Kind.CHAT_MESSAGE) -> Memory:
            return make_memory(tenant, owner=owner, session=session, kind=kind, created_at=START + minutes * _MINUTE)

        wanted = [said(1), said(2)]
        others = [said(0), said(3), said(1, Owner("bob")), said(1, Owner("ada", "coder")), said(1, session="s2")]
        insert_all(store, *wanted, *others, said(1, kind=Kind.FACT))
        found = store.read(
            tenant, lambda tx: tx.surroundings.list_said(Owner("ada"), "s1", START + _MINUTE, START + 2 * _MINUTE, 10)
        )
        assert found == wanted

    def test_last_messages_of_a_session_are_found_unless_they_are_gone_for_good(
        self, store: Store, tenant: str
    ) -> None:
        def said(status: Status = Status.ACTIVE, **fields: Any) -> Memory:
            return make_memory(tenant, **({"session": "s1", "kind": Kind.CHAT_MESSAGE, "status": status} | fields))

        wanted = [said(), said(Status.ARCHIVED), said(Status.SOFT_DELETED), said()]
        others = [said(Status.HARD_DELETE_PENDING), said(owner=_CODER), said(session="s2"), said(kind=Kind.TOOL_OUTPUT)]
        insert_all(store, *wanted, *others)

        def last(session: str, limit: int) -> list[Memory]:
            return store.read(tenant, lambda tx: tx.surroundings.last_said(_ADA, session, limit))

        assert last("s1", 9) == wanted
        assert last("s1", 2) == wanted[2:]
        assert last("", 9) == []

    def test_sessions_are_found_by_their_last_memory(self, store: Store, tenant: str) -> None:
        first, second = (make_memory(tenant, session=name, kind=Kind.CHAT_MESSAGE) for name in ("s1", "s2"))
        again = make_memory(tenant, session="s1", kind=Kind.TOOL_OUTPUT, status=Status.SOFT_DELETED)
        others = make_memory(tenant, session="s1", owner=Owner("bob"))
        insert_all(store, first, second, again, others, make_memory(tenant))

        def latest(owner: OwnerFilter, before: str = "~", limit: int = 10) -> list[tuple[str, ...]]:
            found = store.read(tenant, lambda tx: tx.surroundings.latest_sessions(owner, before, limit, START))
            return [key[:3] for key in found]

        ada, everybody = OwnerFilter("ada"), OwnerFilter(any_user=True, any_agent=True)
        assert latest(ada) == [("ada", "s1", again.id), ("ada", "s2", second.id)]
        assert latest(ada, again.id) == [("ada", "s2", second.id)]
        assert latest(everybody, limit=2) == [("bob", "s1", others.id), ("ada", "s1", again.id)]
        # A session that goes on after the place was on an earlier page, however few are asked for.
        for limit in (1, 10):
            assert latest(everybody, again.id, limit) == [("ada", "s2", second.id)]
        assert latest(everybody, first.id) == []

    def test_sessions_of_a_user_are_in_the_order_of_what_was_said_last(self, store: Store, tenant: str) -> None:
        said = {"s1": START - _MINUTE, "s2": None, "s3": START - 9 * _MINUTE, "s4": START - _MINUTE}
        rows = [
            make_memory(tenant, session=name, event_time=moment, kind=Kind.CHAT_MESSAGE)
            for name, moment in said.items()
        ]
        # What was learned later, there or where nothing was said.
        learned = [make_memory(tenant, session=name) for name in ("s3", "s5")]
        insert_all(store, *rows, *learned)
        ada = OwnerFilter("ada")
        found = store.read(tenant, lambda tx: tx.surroundings.latest_sessions(ada, "~", 2))
        last = found[-1]
        found += store.read(tenant, lambda tx: tx.surroundings.latest_sessions(ada, last.last_id, 9, last.said_at))
        assert [key.session for key in found] == ["s2", "s4", "s1", "s3"]
        assert [key.said_at for key in found] == [START, START - _MINUTE, START - _MINUTE, START - 9 * _MINUTE]

    def test_lines_of_a_conversation_are_found_by_pattern(self, store: Store, tenant: str) -> None:
        texts = ("Tea?", "noon", "tea!")
        lines = [make_memory(tenant, session="s1", kind=Kind.CHAT_MESSAGE, content=text) for text in texts]
        insert_all(store, *lines)
        found = store.read(
            tenant, lambda tx: tx.surroundings.conversation(OwnerFilter("ada"), "s1", START, 9, pattern="%tea%")
        )
        assert found == [lines[0], lines[2]]

    def test_conversation_is_what_is_in_use_of_a_session(self, store: Store, tenant: str) -> None:
        def said(**fields: Any) -> Memory:
            return make_memory(tenant, **({"session": "s1", "kind": Kind.CHAT_MESSAGE} | fields))

        lines = [said(content="Tea?"), said(kind=Kind.TOOL_OUTPUT, content="noon"), said(content="tea!")]
        gone, of_coder = said(status=Status.SOFT_DELETED), said(owner=_CODER)
        insert_all(store, *lines, gone, of_coder, said(kind=Kind.FACT), said(session="s2"))

        def read(limit: int = 9, *, any_agent: bool = False, **more: Any) -> list[Memory]:
            owner = OwnerFilter("ada", any_agent=any_agent)
            return store.read(tenant, lambda tx: tx.surroundings.conversation(owner, "s1", START, limit, **more))

        assert read() == lines
        assert read(2) == lines[:2]
        assert read(after=lines[0].id) == lines[1:]
        assert read(1, before=lines[2].id) == lines[1:2]
        assert read(any_agent=True) == [*lines, of_coder]
        count = store.read(tenant, lambda tx: tx.surroundings.count_conversation(OwnerFilter("ada"), "s1", START, 2))
        assert count == 2
        ids = store.read(tenant, lambda tx: tx.surroundings.conversation_ids(OwnerFilter("ada"), "s1", lines[0].id, 9))
        assert ids == [lines[1].id, lines[2].id, gone.id]

    def test_what_was_learned_of_several_sources_comes_at_once(self, store: Store, tenant: str) -> None:
        facts = [make_memory(tenant, source_ref=source) for source in ("a", "b", "a")]
        insert_all(store, *facts, make_memory(tenant, source_ref="c"))
        found = store.read(tenant, lambda tx: tx.surroundings.list_learned_of(["a", "b"], 5))
        assert {one.id for one in found} == {one.id for one in facts}
        assert store.read(tenant, lambda tx: tx.surroundings.list_learned_of([], 5)) == []
        assert store.read(tenant, lambda tx: tx.surroundings.session_turns("ada", "s1", 5)) == []
