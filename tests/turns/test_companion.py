"""A companion's turn: what the model is told and may do, what is kept of it, and what is learned."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memorist.bootstrap import open_core
from memorist.context.companion import Category, Finding, FindingVerdict
from memorist.core import Core
from memorist.errors import NotFound
from memorist.ingestion.service import Message
from memorist.memories.values import Governor, Kind
from memorist.platform.values import Principal, Role
from memorist.testing import FrozenClock
from memorist.turns.values import TurnEvent
from tests.support.scripted_http import ScriptedServer
from tests.support.talking import fails, says
from tests.turns.conftest import turn_settings

HELLO = "I am allergic to peanuts."
Open = Callable[..., Core]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def open_with(
    database_url: str, tmp_path: Path, tenant: str, model: ScriptedServer, clock: FrozenClock
) -> Iterator[Open]:
    opened: list[Core] = []

    def call(**settings: object) -> Core:
        core = open_core(turn_settings(tmp_path, model.url, **{"database": database_url, **settings}), clock=clock)
        core.identity.create_tenant(tenant)
        opened.append(core)
        return core

    yield call
    model.released.set()
    for core in opened:
        core.close()


@pytest.fixture
def core(open_with: Open) -> Core:
    return open_with()


def take(core: Core, who: Principal, text: str = HELLO, **options: Any) -> list[TurnEvent]:
    turn = core.turns.start(who, [Message("user", text)], **options)
    events = list(core.turns.follow(who, turn.id))
    assert events[-1].event == "turn.completed", events[-1].data
    return events


def asked(model: ScriptedServer) -> list[str]:
    return [json.dumps(one.body, ensure_ascii=False) for one in model.requests]


def system_of(model: ScriptedServer, index: int = 0) -> str:
    return str(next(one["content"] for one in model.requests[index].body["messages"] if one["role"] == "system"))


def found(*memories: dict[str, Any]) -> Any:
    return says(json.dumps({"memories": memories}))


def memory(content: str, excerpt: str = HELLO, **more: Any) -> dict[str, Any]:
    return {"kind": "preference", "content": content, "excerpt": excerpt, "confidence": 0.9, **more}


# What is kept


def test_turn_without_a_session_keeps_no_transcript(core: Core, ada: Principal, model: ScriptedServer) -> None:
    model.scripts[:] = [says("", [("recall", {"query": "peanuts"})]), says("Noted.")]
    events = take(core, ada)
    for kind in (Kind.CHAT_MESSAGE, Kind.TOOL_OUTPUT):
        assert core.memories.list(ada, kind=kind).items == ()
    assert core.jobs.list(ada).items == (), "nor is it kept to be read again"
    (entry,) = core.companion.list(ada).items
    assert (entry.governed_by, entry.source_ref) == (Governor.COMPANION, events[0].data["turn_id"])
    assert [event.event for event in core.turns.events(ada, entry.source_ref or "", limit=100)] == [
        event.event for event in events
    ]


def test_turn_of_a_session_is_one_of_the_agent_tools(core: Core, ada: Principal) -> None:
    take(core, ada, session="kitchen")
    said = core.memories.list(ada, kind=Kind.CHAT_MESSAGE, session="kitchen").items
    assert {one.governed_by for one in said} == {Governor.AGENT_TOOLS}
    assert len(said) == 2
    (entry,) = core.companion.list(ada).items
    assert entry.governed_by is Governor.COMPANION


@pytest.mark.parametrize("session", [None, "stage"])
def test_story_that_began_before_the_last_message_is_no_life(
    open_with: Open, ada: Principal, session: str | None
) -> None:
    core = open_with(extractor="local")
    said = [
        Message("system", "You tell stories."),
        Message("user", "Let's roleplay. You are a detective and I'm your witness."),
        Message("assistant", "Where were you?"),
        Message("user", "I am allergic to dogs."),
    ]
    for part in (said[:2], said):
        events = list(core.turns.follow(ada, core.turns.start(ada, part, session=session).id))
        assert events[-1].event == "turn.completed"
    assert core.companion.list(ada).items == ()


def test_events_of_a_turn_without_a_session_can_be_read_again_for_a_window(
    core: Core, ada: Principal, clock: FrozenClock
) -> None:
    gone = take(core, ada)[0].data["turn_id"]
    kept = take(core, ada, session="kitchen")[0].data["turn_id"]
    clock.advance(timedelta(days=30) - timedelta(microseconds=1))
    core.sweeper.sweep(ada.tenant)
    assert core.turns.events(ada, gone, limit=1)
    clock.advance(timedelta(hours=1))
    core.sweeper.sweep(ada.tenant)
    with pytest.raises(NotFound):
        core.turns.get(ada, gone)
    assert core.turns.events(ada, kept, limit=1)
    (entry,) = [one for one in core.companion.list(ada).items if one.source_ref == gone]
    assert core.dossiers.get(ada, entry.id).origin.has_turn is False


def test_trial_leaves_nothing_that_is_remembered(core: Core, ada: Principal, model: ScriptedServer) -> None:
    known = core.facts.remember(ada, "Ada is allergic to walnuts.").memory
    model.scripts[:] = [says("", [("recall", {"query": "walnuts"})]), says("Noted.")]
    events = take(core, ada, "I am allergic to walnuts and peanuts.", session="kitchen", trial=True)
    turn = core.turns.get(ada, events[0].data["turn_id"])
    assert (turn.has_session, turn.answer) == (False, "Noted.")
    assert [one.id for one in core.memories.list(ada).items] == [known.id]
    assert core.companion.list(ada).items == ()
    assert core.recall_history.of(ada, known.id) == [], "not even what was asked for"
    assert [one.data["agent"] for one in events if one.event == "agent.completed"] == ["assistant", "assistant"]
    model.scripts[:] = [says("", [("recall", {"query": "walnuts"})]), says("Noted.")]
    take(core, ada, "I am allergic to walnuts and peanuts.")
    assert [one.query for one in core.recall_history.of(ada, known.id)] == ["walnuts"]


def test_trial_that_fails_leaves_nothing_either(core: Core, ada: Principal, model: ScriptedServer) -> None:
    model.always = fails(401)
    turn = core.turns.start(ada, [Message("user", HELLO)], trial=True)
    assert list(core.turns.follow(ada, turn.id))[-1].event == "turn.failed"
    core.turns.runner.close()
    assert core.memories.list(ada).items == core.companion.list(ada).items == ()


# What the model is told


def test_summary_stands_at_the_top_of_what_the_model_is_told(core: Core, ada: Principal, model: ScriptedServer) -> None:
    core.companion.add(ada, "No fish.", Category.PREFERENCE)
    turn = core.turns.start(ada, [Message("system", "You are terse."), Message("user", "Hello.")])
    list(core.turns.follow(ada, turn.id))
    told = system_of(model)
    assert told.startswith("<memories>")
    assert told.index("No fish.") < told.index("You are terse.")


def test_turn_is_told_what_recall_finds_for_its_question_and_nothing_that_it_says_itself(
    core: Core, ada: Principal, model: ScriptedServer
) -> None:
    core.ingestion.add_messages(ada, "old", [Message("user", "The zebra is called Rex.")], extract=False)
    core.facts.remember(ada, "Ada lives in Kiel.")
    events = take(core, ada, "What is the zebra called?", session="new")
    told = system_of(model)
    assert "user: The zebra is called Rex." in told
    assert "Ada lives in Kiel." in told
    assert "What is the zebra called?" not in told
    injected = next(event.data for event in events if event.event == "memory.injected")
    assert injected["entries"] == len(injected["ids"]) == 2
    assert [one["heading"] for one in injected["lines"]] == ["Other", "For this question"]
    assert [id_ for one in injected["lines"] for id_ in one["ids"]] == injected["ids"]
    assert 0 < sum(one["tokens"] for one in injected["lines"]) < injected["tokens"] < injected["budget"]


def test_turn_is_not_told_from_memory_what_the_conversation_shows(
    core: Core, ada: Principal, model: ScriptedServer
) -> None:
    model.always = says("The zebra likes hay.")
    take(core, ada, "Good morning.", session="talk")
    said = [Message("user", "Good morning."), Message("assistant", "The zebra likes hay.")]
    turn = core.turns.start(ada, [*said, Message("user", "What does the zebra like?")], session="talk")
    list(core.turns.follow(ada, turn.id))
    assert "hay" not in system_of(model, 1)
    take(core, ada, "What does the zebra like?", session="another")
    assert "assistant: The zebra likes hay." in system_of(model, 2)


def test_without_memory_nothing_of_it_is_in_any_request(open_with: Open, ada: Principal, model: ScriptedServer) -> None:
    core = open_with(extractor="auto")
    core.companion.add(ada, "No fish.", Category.PREFERENCE)
    model.scripts[:] = [says("Noted."), found()]
    events = take(core, ada, include_memory=False)
    assert len(model.requests) == 2, "the answer, and the extraction"
    assert not [one for one in asked(model) if "No fish." in one or "recall" in one]
    assert "tools" not in model.requests[0].body
    assert "memory" not in system_of(model)
    assert "memory.injected" not in [event.event for event in events]


def test_model_that_calls_a_tool_that_writes_is_told_that_there_is_none(
    core: Core, ada: Principal, model: ScriptedServer
) -> None:
    model.scripts[:] = [says("", [("remember_fact", {"content": "Ada likes nuts."})]), says("Done.")]
    events = take(core, ada, "Hello.")
    assert next(event.data["is_error"] for event in events if event.event == "tool.completed")
    assert core.memories.list(ada, kind=Kind.FACT).items == ()


# What is learned


def test_extractor_is_shown_what_is_known_and_repeats_none_of_it(
    open_with: Open, ada: Principal, model: ScriptedServer
) -> None:
    core = open_with(extractor="auto")
    core.companion.add(ada, "Allergic to peanuts.", Category.PREFERENCE)
    model.scripts[:] = [says("Noted."), found(memory("allergic to PEANUTS."), memory("Peanuts are out."))]
    take(core, ada)
    assert ") Allergic to peanuts." in asked(model)[1]
    assert [one.content for one in core.companion.list(ada).items] == ["Peanuts are out.", "Allergic to peanuts."]


@pytest.mark.parametrize("session", [None, "kitchen"])
@pytest.mark.parametrize(
    ("meanwhile", "kind"),
    [
        ("User prefers coffee in the morning.", "preference"),
        ("User drinks coffee in the morning.", "fact"),
        ("Espresso only.", "preference"),
    ],
)
def test_what_holds_again_is_an_entry_again_and_the_newest(
    open_with: Open, ada: Principal, model: ScriptedServer, clock: FrozenClock, session: str, meanwhile: str, kind: str
) -> None:
    core = open_with(extractor="auto")
    tea = "User prefers tea in the morning."
    for number, said in enumerate((tea, meanwhile, tea, tea)):
        clock.advance(timedelta(minutes=1))
        model.scripts[:] = [says("Noted."), found(memory(said, said, kind="preference" if said == tea else kind))]
        take(core, ada, f"On day {number}: {said}", session=session)
    assert [one.content for one in core.companion.list(ada).items] == [tea, meanwhile, tea], "and it is not said twice"


def test_what_is_found_every_time_is_written_once(
    open_with: Open, ada: Principal, model: ScriptedServer, clock: FrozenClock
) -> None:
    core = open_with(extractor="auto")
    entries = ["User prefers tea in the morning.", "User prefers coffee in the evening."]
    core.companion.add(ada, entries[0], Category.PREFERENCE)
    core.companion.add(ada, entries[1], Category.PREFERENCE)
    core.companion.add(ada, "Runs marathons.", Category.HISTORY)
    for _ in range(3):
        clock.advance(timedelta(minutes=1))
        model.scripts[:] = [says("Noted."), found(*(memory(one, one) for one in entries))]
        take(core, ada, " ".join(entries))
    assert len(core.companion.list(ada).items) == 3


@pytest.mark.parametrize("session", [None, "kitchen"])
def test_one_bad_item_costs_that_item_alone(
    open_with: Open, ada: Principal, model: ScriptedServer, session: str | None
) -> None:
    core = open_with(extractor="auto")
    bad = [memory("Of no kind.", kind="hunch"), memory("x" * 501), memory("No excerpt.", excerpt=None)]
    model.scripts[:] = [says("Noted."), found(*bad, memory("Allergic to peanuts."))]
    take(core, ada, session=session)
    assert [one.content for one in core.companion.list(ada).items] == ["Allergic to peanuts."]


def test_failed_extraction_is_no_failure_of_the_turn(open_with: Open, ada: Principal, model: ScriptedServer) -> None:
    core = open_with(extractor="auto")
    model.scripts[:] = [says("Noted."), says("no list"), says("still none")]
    events = take(core, ada)
    learned = [event.data for event in events if event.event == "agent.completed"][-1]
    assert learned["output_summary"] == "+1 entry (1 history); found locally: llm_malformed"
    assert learned["cost_usd"] > 0, "what was asked in vain was paid for"


def test_extraction_has_a_model_of_its_own(open_with: Open, ada: Principal, model: ScriptedServer) -> None:
    core = open_with(extractor="auto", extraction_llm="openai:gpt-4o-mini")
    model.scripts[:] = [says("Noted."), found(memory("Allergic to peanuts."))]
    take(core, ada)
    assert [one.body["model"] for one in model.requests] == ["gpt-4o", "gpt-4o-mini"]
    (entry,) = core.companion.list(ada).items
    assert (entry.meta or {})["extractor"] == core.extraction_llm.model_id  # type: ignore[union-attr]


def test_entries_are_added_and_none_is_retired(core: Core, ada: Principal) -> None:
    take(core, ada, "I live in Berlin.")
    take(core, ada, "I live in Lisbon.")
    assert len(core.companion.list(ada).items) == 2
    assert core.facts.in_doubt(ada).items == ()


# Events


def test_completed_turn_says_when(core: Core, ada: Principal) -> None:
    events = take(core, ada)
    turn = core.turns.get(ada, events[0].data["turn_id"])
    assert turn.completed_at is not None
    assert events[-1].data["completed_at"] == turn.completed_at.isoformat(timespec="microseconds").replace(
        "+00:00", "Z"
    )


def test_turn_tells_the_verdict_of_what_was_tested_for_it(core: Core, ada: Principal) -> None:
    turn_id = take(core, ada)[0].data["turn_id"]
    finding = Finding("f-1", "nuts", "sleep", FindingVerdict.VALIDATED, 0.4, "Nuts help.", turn_id)
    recorded = core.turns.record(ada, finding)
    assert recorded.insight is not None
    assert {recorded.tested.source_ref, recorded.insight.source_ref} == {turn_id}
    core.turns.record(ada, finding)
    last = core.turns.events(ada, turn_id, limit=100)[-1]
    assert (last.event, last.data["verdict"], last.data["ids"]) == (
        "validator.verdict",
        "validated",
        [recorded.tested.id, recorded.insight.id],
    )
    assert [event.event for event in core.turns.follow(ada, turn_id)].count("validator.verdict") == 1


def test_verdict_is_told_while_the_turn_runs(core: Core, ada: Principal) -> None:
    turn = core.turns.start(ada, [Message("user", HELLO)])
    for number in range(20):
        finding = Finding(f"f-{number}", "nuts", "sleep", FindingVerdict.REJECTED, 0.0, "No effect.", turn.id)
        core.turns.record(ada, finding)
    list(core.turns.follow(ada, turn.id))
    events = core.turns.events(ada, turn.id, limit=1000)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.event for event in events].count("validator.verdict") == 20
    assert "turn.completed" in [event.event for event in events]


def test_finding_of_a_turn_that_is_not_there_is_refused(core: Core, ada: Principal) -> None:
    turn_id = take(core, ada)[0].data["turn_id"]
    bob = Principal(ada.tenant, Role.USER, "bob")
    with pytest.raises(NotFound):
        core.turns.record(bob, Finding("f", "a", "b", FindingVerdict.REJECTED, 0.1, "x", turn_id))
