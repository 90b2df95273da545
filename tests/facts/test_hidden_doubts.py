"""A doubt is listed to those who see both of its facts."""

from dataclasses import replace

from memorist.core import Core
from memorist.facts.values import Doubt
from memorist.ids import new_id
from memorist.memories import writing
from memorist.memories.values import Memory
from memorist.platform.values import Owner, Principal, Role
from memorist.ports import Writer
from memorist.testing import make_memory
from memorist.testing.clocks import START


def _store_doubt(core: Core, older: Memory, newer: Memory) -> str:
    doubt = Doubt(new_id("dbt"), older.owner, newer.id, older.id, "They differ.", "judge", START, START)

    def work(tx: Writer) -> None:
        for memory in (older, newer):
            writing.insert(tx, memory)
        assert tx.facts.insert_doubt(doubt)

    core.store.write(older.tenant, work)
    return doubt.id


def test_doubt_about_an_agents_fact_is_shown_to_no_other_agent(core: Core, tenant: str) -> None:
    everywhere, of_coder = Owner("ada"), Owner("ada", "coder")
    plain = [
        _store_doubt(
            core,
            make_memory(tenant, owner=everywhere, content=f"Tea {number}."),
            make_memory(tenant, owner=everywhere, content=f"No tea {number}."),
        )
        for number in range(2)
    ]
    hidden = [
        _store_doubt(
            core,
            make_memory(tenant, owner=everywhere, content=f"Cake {number}."),
            make_memory(tenant, owner=of_coder, content=f"No cake {number}."),
        )
        for number in range(3)
    ]
    coder = Principal(tenant, Role.USER, "ada", "coder")
    assert {one.doubt.id for one in core.facts.in_doubt(coder).items} == {*plain, *hidden}
    finance = replace(coder, agent="finance")
    first = core.facts.in_doubt(finance, limit=1)
    rest = core.facts.in_doubt(finance, limit=1, cursor=first.next_cursor)
    assert [one.doubt.id for one in (*first.items, *rest.items)] == plain[::-1]
    assert rest.next_cursor is None
