"""Whom and what facts name, and which are named together: found in texts, on both databases, as long as they hold."""

from datetime import timedelta
from typing import Any

import pytest

from memorist.about.values import NamedKind, NameGraph
from memorist.core import Core
from memorist.errors import Forbidden
from memorist.memories.entries import READ_FOR_USER
from memorist.memories.values import Draft, Governor
from memorist.platform.values import Principal, Role
from memorist.testing import StepClock, new_tenant


def tell(core: Core, who: Principal, *contents: str, about: str = "", **fields: Any) -> list[str]:
    meta = {"about": about} if about else None
    drafts = [Draft(one, meta=meta, governed_by=Governor.AGENT_TOOLS, **fields) for one in contents]
    return [one.memory.id for one in core.memories.remember(who, drafts)]


def near(graph: NameGraph, name: str) -> dict[str, int]:
    thing = graph.find(name)
    assert thing is not None
    return {other.name: count for other, count in graph.neighbours(thing.key)}


def test_names_are_found_with_their_kind_and_facts(core: Core, ada: Principal) -> None:
    tell(core, ada, "Her sister Mia Berg moved to Oslo.", "Mia Berg likes tea.", "She flew from Oslo with Bob.")
    tell(core, ada, "Bob builds boats.", about="Bob")
    tell(core, ada, "The tests are slow.", project="github.com/example/shop")
    graph = core.profiles.named(ada)
    assert {(one.name, str(one.kind), len(one.lines)) for one in graph.things.values()} == {
        ("User", "person", 4),
        ("Mia Berg", "person", 2),
        ("Oslo", "place", 2),
        ("Bob", "person", 2),
        ("shop", "project", 1),
    }
    mia = graph.find("mia BERG")
    assert mia is not None
    assert (mia.relation, mia.kind) == ("sister", NamedKind.PERSON)
    assert [one.text for one in mia.lines] == ["Mia Berg likes tea.", "Her sister Mia Berg moved to Oslo."]
    assert near(graph, "Oslo") == {"User": 2, "Mia Berg": 1, "Bob": 1}
    assert near(graph, "shop") == {"User": 1}
    assert [one.text for one in graph.together("oslo", "bob")] == ["She flew from Oslo with Bob."]
    assert [one.name for one in graph.search("BERG mi")] == ["Mia Berg"]
    assert (graph.facts, graph.is_whole, graph.find("Zoe")) == (5, True, None)


def test_who_only_begins_sentences_is_a_person_unless_others_write_it_small(core: Core, ada: Principal) -> None:
    tell(core, ada, "Zoe likes tea.", "Hope lives in Kiel.", "Kiel is cold, but there is hope.", "Sleep matters.")
    graph = core.profiles.named(ada)
    zoe = graph.find("Zoe")
    assert zoe is not None
    assert (zoe.kind, [one.text for one in zoe.lines]) == (NamedKind.PERSON, ["Zoe likes tea."])
    assert {one.name for one in graph.things.values()} == {"User", "Zoe", "Kiel"}
    assert {one.name for one in core.profiles.about(ada).mentioned} == {"Zoe", "Kiel"}


def test_graph_follows_what_is_written_and_deleted(core: Core, ada: Principal) -> None:
    (first,) = tell(core, ada, "She met Mia in Kiel.")
    assert core.profiles.named(ada).find("Mia") is not None
    tell(core, ada, "She met Bob.")
    assert core.profiles.named(ada).find("Bob") is not None
    core.memories.forget(ada, first)
    graph = core.profiles.named(ada)
    assert graph.find("Mia") is None
    assert core.profiles.named(ada) is graph


def test_graph_forgets_what_ends_by_itself_or_is_erased_elsewhere(core: Core, clock: StepClock, ada: Principal) -> None:
    tell(core, ada, "She met Bob.", ttl=timedelta(hours=1))
    (mia,) = tell(core, ada, "She met Mia.")
    assert core.profiles.named(ada).find("Bob") is not None
    clock.advance(timedelta(hours=2))
    assert core.profiles.named(ada).find("Bob") is None
    core.store.write(ada.tenant, lambda tx: core.erasure.purge_rows(tx, [mia]))
    assert core.profiles.named(ada).find("Mia") is None


def test_only_ones_own_facts_name_somebody(core: Core, ada: Principal) -> None:
    tell(core, ada, "She met Mia in Kiel.")
    for other in (Principal(ada.tenant, Role.USER, "bob"), Principal(new_tenant(), Role.USER, "ada")):
        assert core.profiles.named(other).things == {}
    with pytest.raises(Forbidden):
        core.profiles.named(Principal(ada.tenant, Role.ADMIN))
    planner = Principal(ada.tenant, Role.USER, "ada", "planner")
    tell(core, planner, "She hired Zoe.")
    assert core.profiles.named(ada).find("Zoe") is None
    assert core.profiles.named(planner).find("Zoe") is not None


def test_entries_that_another_reads_for_the_user_say_so(core: Core, ada: Principal) -> None:
    entry = core.memories.remember(ada, [Draft("She met Mia.", governed_by=Governor.COMPANION)])[0].memory
    admin = Principal(ada.tenant, Role.ADMIN, "ada", key_id="key_x", on_behalf=True)
    assert core.profiles.named(admin).find("Mia") is not None
    events = core.store.read(ada.tenant, lambda tx: tx.events.of([entry.id]))
    assert READ_FOR_USER in [one.event_type for one in events]
