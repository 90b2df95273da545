"""One memory looked at closely: in any state for whom it concerns, with its source, its life and what may be done."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.core import Core
from memorist.errors import Conflict, Forbidden, NotFound
from memorist.ingestion.service import Message
from memorist.memories.values import Kind, Memory, Retention, Status
from memorist.platform.values import Owner, Principal, Role
from memorist.testing import StepClock
from memorist.views.dossiers import LATEST_EVENTS, Act

Remember = Callable[..., Memory]

KEPT = {Act.EDIT, Act.ARCHIVE, Act.DELETE, Act.ERASE}


def say(core: Core, who: Principal, *texts: str, session: str = "s1") -> list[Memory]:
    return [
        result.memory for result in core.ingestion.add_messages(who, session, [Message("user", text) for text in texts])
    ]


# Who sees what


def test_deleted_memory_is_shown_to_its_owner_and_to_admins(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Remember
) -> None:
    memory = remember(ada)
    core.memories.forget(ada, memory.id)
    reader = Principal(ada.tenant, Role.READER, "ada")
    for who in (ada, admin, reader):
        assert core.dossiers.get(who, memory.id).memory.status is Status.SOFT_DELETED
    with pytest.raises(NotFound):
        core.dossiers.get(bob, memory.id)
    assert core.dossiers.get(reader, memory.id).acts == frozenset()


def test_deleted_memory_of_everybody_is_shown_to_admins_alone(
    core: Core, ada: Principal, admin: Principal, remember: Remember
) -> None:
    memory = remember(admin, owner=Owner())
    assert core.dossiers.get(ada, memory.id).acts == frozenset()
    core.memories.forget(admin, memory.id)
    assert core.dossiers.get(admin, memory.id).memory.id == memory.id
    for who in (ada, Principal(ada.tenant, Role.SERVICE)):
        with pytest.raises(NotFound):
            core.dossiers.get(who, memory.id)


def test_looking_is_no_read(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    for _ in range(2):
        assert core.dossiers.get(ada, memory.id).memory.access_count == 0


def test_another_tenant_sees_nothing(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    other = Principal(core.identity.create_tenant(f"{ada.tenant}-next")[0].id, Role.ADMIN)
    with pytest.raises(NotFound):
        core.dossiers.get(other, memory.id)


# Where it comes from


def test_fact_leads_to_the_lines_around_its_source(core: Core, ada: Principal, remember: Remember) -> None:
    said = say(core, ada, *(f"line {number}" for number in range(9)))
    say(core, ada, "elsewhere", session="s2")
    fact = remember(ada, "a fact", meta={"message_id": said[4].id}, source_ref=said[4].id)
    origin = core.dossiers.get(ada, fact.id).origin
    assert origin.source == said[4]
    assert [line.content for line in origin.before] == ["line 1", "line 2", "line 3"]
    assert [line.content for line in origin.after] == ["line 5", "line 6"]
    assert origin.session == "s1"


def test_deleted_lines_are_left_out(core: Core, ada: Principal, remember: Remember) -> None:
    said = say(core, ada, "one", "two", "three")
    fact = remember(ada, "a fact", source_ref=said[1].id)
    core.memories.forget(ada, said[0].id)
    assert core.dossiers.get(ada, fact.id).origin.before == ()
    core.memories.forget(ada, said[1].id)
    assert core.dossiers.get(ada, fact.id).origin.source is None


def test_source_that_one_may_not_see_is_not_shown(
    core: Core, ada: Principal, admin: Principal, remember: Remember
) -> None:
    (said,) = say(core, ada, "between us")
    fact = remember(admin, "for everybody", owner=Owner(), source_ref=said.id)
    bob = Principal(ada.tenant, Role.USER, "bob")
    assert core.dossiers.get(bob, fact.id).origin.source is None
    assert core.dossiers.get(ada, fact.id).origin.source == said


def test_fact_of_a_turn_names_it_and_its_message(core: Core, ada: Principal, remember: Remember) -> None:
    (said,) = say(core, ada, "I like tea")
    fact = remember(ada, "likes tea", source_ref="turn_01J9Z3K4M5N6P7Q8R9S0T1V2W3", meta={"message_id": said.id})
    origin = core.dossiers.get(ada, fact.id).origin
    assert (origin.turn_id, origin.source) == ("turn_01J9Z3K4M5N6P7Q8R9S0T1V2W3", said)


def test_message_stands_among_its_neighbours(core: Core, ada: Principal) -> None:
    said = say(core, ada, "one", "two", "three")
    origin = core.dossiers.get(ada, said[1].id).origin
    assert (origin.before, origin.source, origin.after) == ((said[0],), said[1], (said[2],))


def test_chunk_stands_between_its_neighbours(core: Core, ada: Principal) -> None:
    text = "\n\n".join(f"## Part {number}\n\n" + f"What part {number} says. " * 60 for number in range(4))
    core.ingestion.add_document(ada, title="Handbook", content=text, media_type="text/markdown", shared=False)
    chunks = sorted(core.memories.list(ada, kind=Kind.DOCUMENT_CHUNK, limit=100).items, key=lambda one: one.id)
    origin = core.dossiers.get(ada, chunks[1].id).origin
    assert (origin.before, origin.after) == ((chunks[0],), (chunks[2],))
    assert origin.has_document


def test_chunk_of_a_deleted_document_leads_to_none(core: Core, ada: Principal) -> None:
    stored = core.ingestion.add_document(ada, title="guide", content="A chunk of it.", shared=False)
    (chunk,) = core.memories.list(ada, kind=Kind.DOCUMENT_CHUNK).items
    core.ingestion.forget_document(ada, stored.document.id)
    assert not core.dossiers.get(ada, chunk.id).origin.has_document


def test_whole_output_of_a_tool_is_there(core: Core, ada: Principal, bob: Principal, remember: Remember) -> None:
    whole = "line of output\n" * 1000
    output = core.ingestion.add_tool_output(ada, "s1", tool_call_id="c", tool_name="shell", content=whole).memory
    short = core.ingestion.add_tool_output(ada, "s1", tool_call_id="d", tool_name="shell", content="ok").memory
    assert core.dossiers.get(ada, output.id).origin.is_payload_longer
    assert not core.dossiers.get(ada, short.id).origin.is_payload_longer
    assert core.dossiers.payload(ada, output.id) == (output, whole)
    assert core.dossiers.payload(ada, short.id)[1] == "ok"
    with pytest.raises(NotFound):
        core.dossiers.payload(bob, output.id)
    with pytest.raises(NotFound):
        core.dossiers.payload(ada, remember(ada).id)


# Its life


def test_life_of_a_kept_memory_has_no_deadlines(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    dossier = core.dossiers.get(ada, memory.id)
    assert [step.status for step in dossier.steps] == list(Status)
    assert [step.at for step in dossier.steps] == [memory.created_at, None, None, None, None]
    assert [step.is_now for step in dossier.steps] == [True, False, False, False, False]
    assert dossier.acts == KEPT
    assert not dossier.is_enforced


def test_life_follows_the_policy(core: Core, ada: Principal, admin: Principal, remember: Remember) -> None:
    memory = remember(ada, retention=Retention.POLICY)
    days = [(step.at - memory.created_at).days for step in core.dossiers.get(ada, memory.id).steps if step.at]
    assert days == [0, 90, 150, 157, 157]
    core.policies.change(admin, {"mode": "enforce"})
    assert core.dossiers.get(ada, memory.id).is_enforced


def test_time_to_live_is_above_the_policy(core: Core, ada: Principal, remember: Remember, clock: StepClock) -> None:
    memory = remember(ada, retention=Retention.POLICY, ttl=timedelta(days=1))
    steps = {step.status: step.at for step in core.dossiers.get(ada, memory.id).steps}
    assert steps[Status.ARCHIVED] == memory.expires_at
    assert steps[Status.SOFT_DELETED] == memory.expires_at + timedelta(days=60)
    clock.advance(timedelta(days=2))
    dossier = core.dossiers.get(ada, memory.id)
    assert dossier.is_expired
    assert dossier.acts == {Act.ERASE}


def test_deleted_memory_can_be_restored_inside_its_window(
    core: Core, ada: Principal, remember: Remember, clock: StepClock
) -> None:
    memory = remember(ada)
    core.retention.archive(ada, memory.id)
    assert core.dossiers.get(ada, memory.id).acts == {Act.RESTORE, Act.DELETE, Act.ERASE}
    deleted = core.retention.delete(ada, memory.id)
    dossier = core.dossiers.get(ada, memory.id)
    assert dossier.acts == {Act.RESTORE, Act.ERASE}
    steps = {step.status: step for step in dossier.steps}
    assert steps[Status.ARCHIVED].is_past
    assert steps[Status.SOFT_DELETED].is_now
    assert steps[Status.SOFT_DELETED].at == deleted.deleted_at
    assert steps[Status.HARD_DELETE_PENDING].at == deleted.hard_delete_at
    clock.advance(timedelta(days=8))
    assert core.dossiers.get(ada, memory.id).acts == {Act.ERASE}


def test_state_that_was_skipped_is_left_out(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    core.retention.archive(ada, memory.id)
    core.retention.restore(ada, memory.id)
    core.retention.delete(ada, memory.id)
    steps = [step.status for step in core.dossiers.get(ada, memory.id).steps]
    assert steps == [Status.ACTIVE, Status.SOFT_DELETED, Status.HARD_DELETE_PENDING, Status.PURGED]


def test_what_may_be_done_can_be_done(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    verbatim = say(core, ada, "word for word")[0]
    assert Act.EDIT not in core.dossiers.get(ada, verbatim.id).acts
    assert core.dossiers.require_editable(ada, memory.id) == memory
    reader = Principal(ada.tenant, Role.READER, "ada")
    with pytest.raises(Forbidden):
        core.dossiers.require_editable(reader, memory.id)
    core.retention.archive(ada, memory.id)
    with pytest.raises(Conflict):
        core.dossiers.require_editable(ada, memory.id)


def test_latest_events_come_first_and_are_bounded(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada, "said again and again")
    for _ in range(LATEST_EVENTS):
        remember(ada, "said again and again")
    dossier = core.dossiers.get(replace(ada, source="dashboard"), memory.id)
    assert len(dossier.events) == LATEST_EVENTS
    assert dossier.has_more_events
    assert {event.event_type for event in dossier.events} == {"deduplicated"}
    assert [event.seq for event in dossier.events] == sorted((event.seq for event in dossier.events), reverse=True)
