"""Conversations that are too long for the model: of a session what is dropped is found by recall; of others nothing is
kept, and as much is shown as fits.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.ingestion.service import Message
from memorist.memories.values import Kind
from memorist.platform.tokens import count_tokens
from memorist.platform.values import Principal
from memorist.turn_tools import MemoryTools
from memorist.turns.calibration import Calibration
from memorist.turns.values import TurnEvent
from tests.support.scripted_http import Body, Reply, Script, ScriptedServer
from tests.support.talking import fails, says
from tests.turns.conftest import turn_settings

MARKER = "The safe in the cellar opens with the code word pomegranate."


@pytest.fixture
def core(database_url: str, tmp_path: Path, tenant: str, model: ScriptedServer) -> Iterator[Core]:
    more = {"database": database_url, "llm_context_tokens": 6000}
    core = open_core(turn_settings(tmp_path, model.url, **more))
    core.identity.create_tenant(tenant)
    yield core
    model.released.set()
    core.close()


def conversation(exchanges: int) -> list[Message]:
    said = [Message("user", MARKER), Message("assistant", "Noted.")]
    for number in range(exchanges):
        said.append(Message("user", f"Question {number} {'lorem ipsum dolor sit ' * 90}"))
        said.append(Message("assistant", f"Answer {number} {'lorem ipsum ' * 12}"))
    return [*said, Message("user", "And now?")]


def take(core: Core, ada: Principal, said: list[Message], session: str | None = None) -> list[TurnEvent]:
    turn = core.turns.start(ada, said, session=session)
    events = list(core.turns.follow(ada, turn.id))
    assert events[-1].event == "turn.completed"
    return events


def was_shortened(events: list[TurnEvent]) -> bool:
    return "context.compressed" in [event.event for event in events]


def shown(model: ScriptedServer) -> list[dict[str, str]]:
    """The conversation that the model was sent."""
    return [one for one in model.requests[-1].body["messages"] if one["role"] != "system"]


def system_of(model: ScriptedServer) -> str:
    return str(next(one["content"] for one in model.requests[-1].body["messages"] if one["role"] == "system"))


def stored(core: Core, ada: Principal) -> Counter[str]:
    return Counter(memory.content for memory in core.memories.list(ada, kind=Kind.CHAT_MESSAGE, limit=100).items)


def test_what_was_dropped_of_a_session_is_found_by_recall(core: Core, ada: Principal, model: ScriptedServer) -> None:
    model.always = says("Now it is time.")
    said = conversation(30)
    assert was_shortened(take(core, ada, said, session="cellar"))
    assert len(shown(model)) == 5, "the last four, after a note that others came before"
    assert stored(core, ada) == Counter([*(one.content for one in said), "Now it is time."])
    found = MemoryTools(core).run(ada, "recall", {"query": "code word pomegranate of the safe"})
    assert MARKER in [item["content"] for item in found["items"]]
    assert "reachable with recall" in system_of(model)


def test_without_a_session_as_much_is_shown_as_fits_and_nothing_is_stored(
    core: Core, ada: Principal, model: ScriptedServer
) -> None:
    said = conversation(30)
    assert was_shortened(take(core, ada, said))
    assert 4 < len(shown(model)) < len(said)
    assert shown(model)[-1]["content"] == "And now?"
    assert "trimmed for length" in system_of(model)
    assert "reachable with recall" not in system_of(model)
    assert stored(core, ada) == Counter()


def test_short_conversation_without_a_session_is_shown_whole_and_not_stored(
    core: Core, ada: Principal, model: ScriptedServer
) -> None:
    assert not was_shortened(take(core, ada, conversation(1)))
    assert len(shown(model)) == 5
    assert stored(core, ada) == Counter()


# What tools return


def remember_beds(core: Core, ada: Principal) -> None:
    beds = [f"Tulip bed {number}: {'many bulbs beside the wall need water ' * 6}" for number in range(20)]
    core.ingestion.add_messages(ada, "garden", [Message("user", bed) for bed in beds])


def strict(calls: int) -> Script:
    """A model of a small window that refuses what is longer, and looks things up so often before it answers."""

    def script(reply: Reply, body: Body) -> None:
        tools = [one["function"] for one in body.get("tools", [])]
        sent = [one.get("content") or "" for one in body["messages"]]
        sent += [f"{one['description']} {one['parameters']}" for one in tools]
        called = sum(one["role"] == "tool" for one in body["messages"])
        if sum(map(count_tokens, sent)) + body["max_tokens"] > 6000:
            fails(400)(reply, body)
        else:
            says("Done.", [("recall", {"query": "tulip bed", "top_k": 20})] if called < calls else [])(reply, body)

    return script


def results(model: ScriptedServer) -> list[str]:
    return [one["content"] for one in shown(model) if one["role"] == "tool"]


def test_full_conversation_makes_room_for_what_tools_return(core: Core, ada: Principal, model: ScriptedServer) -> None:
    remember_beds(core, ada)
    model.always = strict(calls=4)
    events = take(core, ada, conversation(30))
    dropped = [event.data["dropped"] for event in events if event.event == "context.compressed"]
    assert len(dropped) > 1
    assert dropped == sorted(dropped)
    first, *_, last = results(model)
    assert first == "[Left out for length. Call the tool again where it matters.]"
    assert "Tulip bed" in last
    assert "more characters. Ask for less.]" in last


def test_results_of_one_round_share_the_room_and_none_is_left_out(
    core: Core, ada: Principal, model: ScriptedServer
) -> None:
    remember_beds(core, ada)
    call = ("recall", {"query": "tulip bed", "top_k": 20})
    model.scripts = [says("", [call]), says("", [call, ("recall", {"query": "tulip bed", "top_k": 1}), call])]
    model.always = says("Done.")
    take(core, ada, [Message("user", "What is in the beds?")])
    earlier, first, short, last = results(model)
    assert earlier == "[Left out for length. Call the tool again where it matters.]"
    assert "Cut off" not in short
    assert json.loads(short)["items"]
    assert first == last
    assert "Tulip bed" in first
    assert "more characters. Ask for less.]" in first
    assert 0.35 * 6000 < sum(map(count_tokens, (first, short, last))) < 0.42 * 6000


def test_what_was_cut_of_a_result_is_read_on_in_a_session(core: Core, ada: Principal, model: ScriptedServer) -> None:
    remember_beds(core, ada)
    model.always = strict(calls=1)
    events = take(core, ada, [Message("user", "What is in the beds?")], session="today")
    key = next(event.data["tool_output_key"] for event in events if event.event == "tool.completed")
    (told,) = results(model)
    content, _, notice = told.rpartition("\n")
    assert notice.endswith(f"read_tool_output of {key} reads on at offset {len(content)}.]")
    assert core.ingestion.read_tool_output(ada, key)[1].startswith(content)


def test_refusal_of_what_is_too_long_names_the_length(core: Core, ada: Principal, model: ScriptedServer) -> None:
    model.always = strict(calls=0)
    turn = core.turns.start(ada, [Message("user", "and so on " * 4000)])
    failed = list(core.turns.follow(ada, turn.id))[-1]
    assert failed.event == "turn.failed"
    assert "and reads 6000 with its answer: send less" in failed.data["error"]["message"]


# When it is shortened


def tokens_of(body: Body) -> int:
    """As a tokenizer for which a token has 5.5 characters: fewer tokens than we estimate."""
    return round(len(json.dumps(body["messages"]) + json.dumps(body.get("tools", ""))) / 5.5)


def test_conversation_is_shortened_at_four_fifths_of_what_the_model_counts(
    core: Core, ada: Principal, model: ScriptedServer
) -> None:
    model.always = says("Go on.", counted=tokens_of)
    said = [Message("user", "We begin.")]
    counts: list[int] = []
    for number in range(40):
        before = len(model.requests)
        if was_shortened(take(core, ada, said, session="long")):
            break
        counts.append(max(tokens_of(request.body) for request in model.requests[before:]))
        said += [Message("assistant", "Go on."), Message("user", f"Part {number}: {'and so it went on ' * 60}")]
    assert 0.7 * 6000 < counts[-1] <= 0.82 * 6000


def test_estimate_counts_while_the_model_has_counted_nothing() -> None:
    calibration = Calibration()
    assert calibration.tokens("m", "s", 1000) == 1000
    for estimated, counted in ((1000, 0), (1000, 399), (1000, 4001), (199, 150)):
        calibration.learn("m", "s", estimated, counted)
    assert calibration.tokens("m", "s", 1000) == 1000


def test_count_holds_for_its_conversation_first_and_then_for_its_model() -> None:
    calibration = Calibration()
    calibration.learn("m", "code", 1000, 1500)
    calibration.learn("m", "prose", 1000, 700)
    found = [calibration.tokens(model, session, 100) for model, session in (("m", "code"), ("m", "new"), ("n", "code"))]
    assert found == [150, 70, 100]
