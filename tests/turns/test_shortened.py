"""Conversations that are too long for the model, without a session: what is dropped is found by recall, and once."""

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.ingestion.service import Message
from memorist.memories.values import Kind
from memorist.platform.values import Principal, Role
from memorist.tools import MemoryTools
from memorist.turns.calibration import Calibration
from memorist.turns.values import TurnEvent
from tests.support.scripted_http import Body, ScriptedServer
from tests.support.talking import says
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


@pytest.fixture
def ada(tenant: str) -> Principal:
    return Principal(tenant, Role.USER, "ada")


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


def stored(core: Core, ada: Principal) -> Counter[str]:
    return Counter(memory.content for memory in core.memories.list(ada, kind=Kind.CHAT_MESSAGE, limit=100).items)


def test_what_was_dropped_is_found_by_recall(core: Core, ada: Principal, model: ScriptedServer) -> None:
    model.always = says("Now it is time.")
    said = conversation(30)
    assert was_shortened(take(core, ada, said))
    kept = stored(core, ada)
    # All but the last four, of which the very last was stored first of all, and the answer.
    assert kept == Counter([*(one.content for one in said[:-4]), "And now?", "Now it is time."])
    found = MemoryTools(core).run(ada, "recall", {"query": "code word pomegranate of the safe"})
    assert MARKER in [item["content"] for item in found["items"]]


def test_a_conversation_that_grows_is_stored_once(core: Core, ada: Principal, model: ScriptedServer) -> None:
    said = conversation(12)
    seen = 0
    for number in range(5):
        model.always = says(f"Answer to the growing conversation, number {number}.")
        seen += was_shortened(take(core, ada, said))
        said = [
            *said,
            Message("assistant", f"Answer to the growing conversation, number {number}."),
            Message("user", f"More of it, number {number}: {'and so on ' * 12}"),
        ]
    assert seen == 5
    kept = stored(core, ada)
    assert set(kept.values()) == {1}
    assert {one.content for one in said[:-5]} <= kept.keys()


def test_what_was_said_twice_is_stored_as_often_and_no_more(core: Core, ada: Principal, model: ScriptedServer) -> None:
    model.always = says("Very well.")
    said = [Message("user", "Yes."), Message("assistant", "Really?"), Message("user", "Yes."), *conversation(12)[1:]]
    for _ in range(3):
        assert was_shortened(take(core, ada, said))
        assert stored(core, ada)["Yes."] == 2


def test_what_was_deleted_does_not_come_back(core: Core, ada: Principal) -> None:
    said = conversation(12)
    take(core, ada, said)
    (marker,) = [one for one in core.memories.list(ada, limit=100).items if one.content == MARKER]
    core.memories.forget(ada, marker.id)
    assert was_shortened(take(core, ada, said))
    assert MARKER not in stored(core, ada)


def test_without_a_session_a_conversation_that_fits_is_stored_by_its_end(
    core: Core, ada: Principal, model: ScriptedServer
) -> None:
    model.always = says("Now it is time.")
    assert not was_shortened(take(core, ada, conversation(1)))
    assert stored(core, ada) == Counter(["And now?", "Now it is time."])


def test_two_who_drop_the_same_at_once_store_it_once(core: Core, ada: Principal) -> None:
    said = [Message("user", f"Said long ago, number {number}.") for number in range(20)]
    with ThreadPoolExecutor(4) as pool:
        new = list(pool.map(lambda index: core.extraction.keep_missing(ada, f"s{index}", said), range(4)))
    assert sum(map(len, new)) == 20
    assert stored(core, ada) == Counter(one.content for one in said)


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
