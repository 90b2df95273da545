"""A doubt is listed to those who see both of its facts, and decided by those who may change what goes."""

from dataclasses import replace

import pytest

from memorist.core import Core
from memorist.errors import Forbidden
from memorist.facts.doubts import decisions
from memorist.facts.values import Doubt, DoubtStatus
from memorist.ids import new_id
from memorist.memories import writing
from memorist.memories.values import Memory, Status
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


def test_pair_is_decided_by_who_may_change_what_goes(core: Core, admin: Principal, tenant: str) -> None:
    older = make_memory(tenant, owner=Owner(agent="bot"), content="The deploy target is Hetzner.")
    newer = make_memory(tenant, owner=Owner(), content="The deploy target is Amazon.")
    doubt_id = _store_doubt(core, older, newer)
    user = Principal(tenant, Role.USER, "ada", "bot")
    (pair,) = core.facts.in_doubt(user).items
    assert decisions(user, pair) == {DoubtStatus.CONFIRMED}
    assert decisions(admin, pair) == {DoubtStatus.CONFIRMED, DoubtStatus.REFUTED, DoubtStatus.DISMISSED}
    for decide in (core.facts.refute, core.facts.dismiss):
        with pytest.raises(Forbidden):
            decide(user, doubt_id)
    core.facts.refute(admin, doubt_id)
    for take_back in (core.facts.reopen, lambda who, _: core.facts.restore(who, newer.id)):
        with pytest.raises(Forbidden):
            take_back(user, doubt_id)
    core.facts.reopen(admin, doubt_id)
    core.facts.dismiss(admin, doubt_id)
    with pytest.raises(Forbidden):
        core.facts.reopen(user, doubt_id)
    core.facts.reopen(admin, doubt_id)
    assert core.facts.confirm(user, doubt_id).other.status is Status.ARCHIVED


def test_agent_does_not_retire_a_note_of_all_profiles_through_a_doubt(core: Core, ada: Principal, tenant: str) -> None:
    note = make_memory(tenant, owner=Owner("ada"), name="pay_week", content="The pay week is Friday.")
    fact = make_memory(tenant, owner=Owner("ada"), content="The pay week is Monday.")
    doubt_id = _store_doubt(core, note, fact)
    coder = replace(ada, agent="coder")
    with pytest.raises(Forbidden):
        core.facts.confirm(coder, doubt_id)
    core.facts.confirm(ada, doubt_id)
    for take_back in (core.facts.reopen, lambda who, _: core.facts.restore(who, note.id)):
        with pytest.raises(Forbidden):
            take_back(coder, doubt_id)
    core.facts.reopen(ada, doubt_id)
    assert core.facts.refute(coder, doubt_id).fact.status is Status.ARCHIVED
