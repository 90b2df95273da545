"""What was deleted or edited for everybody is told to those who may bring it back, by no door to the others."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.core import Core
from memorist.errors import NotFound
from memorist.memories.values import Memory
from memorist.platform.values import Event, Principal, Role
from memorist.testing import StepClock

Remember = Callable[..., Memory]


@pytest.fixture
def others(ada: Principal) -> list[Principal]:
    """Whoever sees what the tenant shares, and may not change it."""
    service = Principal(ada.tenant, Role.SERVICE)
    reader = Principal(ada.tenant, Role.READER)
    return [
        ada,
        replace(ada, agent="coder"),
        service,
        replace(service, user="ada"),
        reader,
        replace(reader, user="bob"),
    ]


def exported(core: Core, who: Principal) -> list[str]:
    return [json.loads(line)["memory"]["content"] for line in core.transfer.export(who) if '"memory"' in line]


def in_words(events: Sequence[Event]) -> str:
    return json.dumps([dict(event.payload) for event in events])


def test_deleted_for_everybody_is_found_by_admins_alone(
    core: Core, ada: Principal, admin: Principal, others: list[Principal], remember: Remember
) -> None:
    kept, gone = remember(admin, "plan kept"), remember(admin, "plan gamma")
    core.memories.edit(admin, gone.id, {"content": "plan delta"})
    core.memories.forget(admin, gone.id)
    for who in others:
        assert exported(core, who) == [kept.content]
        assert len(list(core.transfer.export_some(who, [kept.id, gone.id]))) == 3
        with pytest.raises(NotFound):
            core.memories.events(who, gone.id)
    for who in (admin, replace(admin, user="ada")):
        assert exported(core, who) == [kept.content, "plan delta"]
        assert "plan gamma" in "".join(core.transfer.export_some(who, [gone.id]))
        assert "plan gamma" in in_words(core.memories.events(who, gone.id))
    assert core.memories.events(ada, kept.id)


def test_what_was_edited_for_everybody_is_told_without_its_older_text(
    core: Core, admin: Principal, others: list[Principal], remember: Remember
) -> None:
    memory = remember(admin, "plan gamma")
    core.memories.edit(admin, memory.id, {"content": "plan delta"})
    for who in others:
        events = core.memories.events(who, memory.id)
        assert [(one.event_type, dict(one.payload)) for one in events] == [("created", {}), ("updated", {})]
        [version] = core.facts.history(who, memory.id)
        for told in (version.events, core.dossiers.get(who, memory.id).events):
            assert "plan gamma" not in in_words(told)
        told = "".join(core.transfer.export(who))
        assert "plan delta" in told
        assert "plan gamma" not in told
    [version] = core.facts.history(admin, memory.id)
    for events in (core.memories.events(admin, memory.id), version.events, core.dossiers.get(admin, memory.id).events):
        assert "plan gamma" in in_words(events)
    assert "plan gamma" in "".join(core.transfer.export(admin))


def test_own_older_and_deleted_texts_stay_ones_own(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Remember
) -> None:
    memory = remember(ada, "my first plan")
    core.memories.edit(ada, memory.id, {"content": "my second plan"})
    reader = Principal(ada.tenant, Role.READER, "ada")
    for who in (ada, admin, reader):
        assert "my first plan" in in_words(core.memories.events(who, memory.id))
    core.memories.forget(ada, memory.id)
    for who in (ada, admin):
        assert exported(core, who) == ["my second plan"]
        assert "my first plan" in in_words(core.memories.events(who, memory.id))
    for who in (bob, reader):
        assert exported(core, who) == []
        with pytest.raises(NotFound):
            core.memories.events(who, memory.id)


def test_earlier_versions_of_a_shared_document_are_exported_by_admins_alone(
    core: Core, admin: Principal, others: list[Principal]
) -> None:
    service = others[2]
    for text in ("Press the red button.", "Press the blue button."):
        core.ingestion.add_document(service, title="Manual", content=text, document_id="manual", shared=True)
    for who in others:
        assert exported(core, who) == ["Press the blue button."]
        assert "red" not in "".join(core.transfer.export(who))
    assert exported(core, admin) == ["Press the red button.", "Press the blue button."]
    core.ingestion.forget_document(service, "manual")
    assert [list(core.transfer.export(who))[1:-1] for who in others] == [[]] * len(others)
    assert len(exported(core, admin)) == 2


def test_what_is_past_its_time_for_everybody_is_exported_by_admins_alone(
    core: Core, clock: StepClock, admin: Principal, others: list[Principal], remember: Remember
) -> None:
    memory = remember(admin, "until tonight", ttl=timedelta(hours=1))
    clock.advance(timedelta(hours=2))
    for who in others:
        assert exported(core, who) == []
        with pytest.raises(NotFound):
            core.memories.events(who, memory.id)
    assert exported(core, admin) == ["until tonight"]
