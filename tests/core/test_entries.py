"""Only its user reads an entry of the companion, and a service or an admin that acts for the user, who is noted."""

import json
from datetime import timedelta

import pytest

from memorist.context.companion import Category
from memorist.core import Core
from memorist.errors import Forbidden, NotFound
from memorist.memories.entries import READ_FOR_USER
from memorist.memories.values import Draft, Kind, Memory
from memorist.platform import access
from memorist.platform.feed import START, changes
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from memorist.testing import StepClock
from memorist.views.activity import ActivityFilter

TEXT = "Tea, not coffee."


@pytest.fixture
def entry(core: Core, ada: Principal) -> Memory:
    return core.companion.add(ada, TEXT, Category.PREFERENCE).memory


@pytest.fixture
def fact(core: Core, ada: Principal) -> Memory:
    return core.memories.remember(ada, [Draft("Tea at five.")])[0].memory


def acting(tenant: str, role: Role) -> Principal:
    return access.acting(Principal(tenant, role, key_id=f"key_{role}"), user="ada")


def barred(tenant: str) -> list[Principal]:
    return [acting(tenant, Role.READER), Principal(tenant, Role.ADMIN), Principal(tenant, Role.ADMIN, agent="coder")]


def shown(core: Core, who: Principal) -> dict[str, set[str]]:
    """What each way of reading shows, by its name."""
    browsed = core.browsing.page(who)
    facets = core.browsing.facets(who).counts["category"]
    return {
        "list": {one.id for one in core.memories.list(who, every_agent=True).items},
        "browse": {one.id for one in browsed.items},
        "recall": {hit.memory.id for hit in core.recall.recall(who, Question("tea")).hits},
        "chunks": {one.id for one in core.chunks.search(who, "tea")},
        "recent": {one.id for one in core.chunks.recent(who)},
        "facets": {category for category, count in facets.items() if count},
    }


def readings(core: Core, entry: Memory, ada: Principal) -> list[object]:
    return [dict(one.payload) for one in core.memories.events(ada, entry.id) if one.event_type == READ_FOR_USER]


def test_reader_and_admin_who_acts_for_nobody_are_shown_no_entry(
    core: Core, ada: Principal, entry: Memory, fact: Memory
) -> None:
    for who in barred(ada.tenant):
        found = shown(core, who)
        assert found["list"] == found["browse"] == found["recall"] == {fact.id}
        assert found["chunks"] == found["recent"] == set()
        assert "preference" not in found["facets"]
        with pytest.raises(NotFound):
            core.memories.get(who, entry.id)
        with pytest.raises(NotFound):
            core.memories.events(who, entry.id)
        with pytest.raises(NotFound):
            core.dossiers.get(who, entry.id)
        with pytest.raises(NotFound):
            core.retention.read(who, entry.id)
        with pytest.raises(Forbidden):
            core.companion.list(who)
    assert readings(core, entry, ada) == []


def test_user_and_whoever_acts_for_the_user_are_shown_them(
    core: Core, ada: Principal, entry: Memory, fact: Memory
) -> None:
    own_reader = Principal(ada.tenant, Role.READER, "ada")
    for who in (ada, own_reader, acting(ada.tenant, Role.SERVICE), acting(ada.tenant, Role.ADMIN)):
        found = shown(core, who)
        assert found["list"] == found["browse"] == found["recall"] == {entry.id, fact.id}
        assert found["chunks"] == found["recent"] == {entry.id}
        assert "preference" in found["facets"]
        assert core.memories.get(who, entry.id).content == TEXT


def test_changes_of_entries_are_told_to_those_who_read_them(
    core: Core, ada: Principal, entry: Memory, fact: Memory
) -> None:
    said = core.ingestion.add_tool_output(
        ada, "s1", tool_call_id="c", tool_name="recall", content=f"found: {TEXT}", quotes=[entry.id]
    ).memory

    def told(who: Principal) -> list[tuple[str, str]]:
        found = [(one.action, one.memory_id) for one in changes(core.feed, lambda: who, START, wait=0)]
        happened = [(one.what, one.memory_id) for one in core.activity.page(who, ActivityFilter("changes")).items]
        assert len(happened) == len(found)
        return found

    assert told(ada) == told(acting(ada.tenant, Role.SERVICE)) == [("created", one.id) for one in (entry, fact, said)]
    for who in barred(ada.tenant):
        assert told(who) == [("created", fact.id)]
        assert [one.memory.id for one in core.latest.changes(who, limit=1)] == [fact.id]
    core.erasure.erase(ada, [entry.id])
    assert told(ada)[0] == ("created", fact.id)
    assert sorted(told(ada)[1:]) == sorted([("erased", entry.id), ("erased", said.id)])
    for who in barred(ada.tenant):
        assert told(who) == [("created", fact.id)]


@pytest.mark.parametrize("way", ["get", "list", "browse", "recall", "chunks", "recent", "dossier", "export", "entries"])
def test_who_reads_for_the_user_is_in_the_history_once_a_day(
    core: Core, clock: StepClock, ada: Principal, entry: Memory, way: str
) -> None:
    def read(who: Principal) -> None:
        ways = {
            "get": lambda: core.memories.get(who, entry.id),
            "list": lambda: core.memories.list(who),
            "browse": lambda: core.browsing.page(who),
            "recall": lambda: core.recall.recall(who, Question("tea")),
            "chunks": lambda: core.chunks.search(who, "tea"),
            "recent": lambda: core.chunks.recent(who),
            "dossier": lambda: core.dossiers.get(who, entry.id),
            "export": lambda: list(core.transfer.export(who)),
            "entries": lambda: core.companion.list(who),
        }
        ways[way]()

    service = acting(ada.tenant, Role.SERVICE)
    read(ada)
    assert readings(core, entry, ada) == []
    read(service)
    read(service)
    noted = {"role": "service", "key": "key_service"}
    assert readings(core, entry, ada) == [noted]
    clock.advance(timedelta(days=1))
    read(service)
    assert readings(core, entry, ada) == [noted, noted]


def test_pair_in_doubt_with_an_entry_is_shown_to_those_who_read_both(
    core: Core, ada: Principal, entry: Memory, fact: Memory
) -> None:
    doubt = core.facts._new_doubt(fact, entry, "which?", "local")
    core.store.write(ada.tenant, lambda tx: tx.facts.insert_doubt(doubt))
    assert len(core.facts.in_doubt(ada).items) == 1
    assert core.overview.waiting(ada).doubts == 1
    for who in barred(ada.tenant):
        assert core.facts.in_doubt(who).items == ()
        assert core.overview.waiting(who).doubts == 0
    with pytest.raises(NotFound):
        core.facts.dismiss(Principal(ada.tenant, Role.ADMIN), doubt.id)


def test_copy_that_an_admin_makes_is_whole_and_noted_and_a_readers_has_no_entry(
    core: Core, ada: Principal, entry: Memory, fact: Memory
) -> None:
    def exported(who: Principal) -> set[str]:
        lines = [json.loads(line) for line in core.transfer.export(who)]
        return {line["memory"]["id"] for line in lines if "memory" in line}

    assert exported(acting(ada.tenant, Role.READER)) == {fact.id}
    assert exported(Principal(ada.tenant, Role.ADMIN)) == {entry.id, fact.id}
    assert readings(core, entry, ada) == [], "the operator has the database itself"
    assert exported(Principal(ada.tenant, Role.ADMIN, key_id="key_a")) == {entry.id, fact.id}
    assert readings(core, entry, ada) == [{"role": "admin", "key": "key_a"}]


def test_admin_who_acts_for_the_user_restores_an_entry(core: Core, ada: Principal, entry: Memory) -> None:
    admin = acting(ada.tenant, Role.ADMIN)
    core.memories.forget(admin, entry.id)
    with pytest.raises(NotFound):
        core.retention.restore(Principal(ada.tenant, Role.ADMIN), entry.id)
    assert core.retention.restore(admin, entry.id).content == TEXT


def test_what_a_tool_repeated_of_an_entry_is_shown_as_the_entry_is(core: Core, ada: Principal, entry: Memory) -> None:
    said = core.ingestion.add_tool_output(
        ada, "s1", tool_call_id="c", tool_name="recall", content=f"found: {TEXT}", quotes=[entry.id]
    )
    plain = core.ingestion.add_tool_output(ada, "s1", tool_call_id="d", tool_name="sql", content="42 rows")
    for who in barred(ada.tenant):
        kinds = core.memories.list(who, every_agent=True, kind=Kind.TOOL_OUTPUT).items
        assert [one.id for one in kinds] == [plain.memory.id]
        assert [one.id for one in core.browsing.page(who).items] == [plain.memory.id]
        with pytest.raises(NotFound):
            core.ingestion.read_tool_output(who, said.key)
        assert core.dossiers.get(who, plain.memory.id).origin.before == ()
        assert core.ingestion.read_tool_output(who, plain.key)[1] == "42 rows"
    assert core.ingestion.read_tool_output(acting(ada.tenant, Role.SERVICE), said.key)[1] == f"found: {TEXT}"
    assert [one.id for one in core.dossiers.get(ada, plain.memory.id).origin.before] == [said.memory.id]
