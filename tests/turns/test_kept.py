"""What a turn leaves in its session: what is said, as often as it is said, and nothing twice as it is sent again."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories.values import Kind, Memory
from memorist.platform.values import Principal
from memorist.store import memories as memory_statements
from memorist.store import rows as rows_of_stores
from memorist.store import surroundings as surrounding_statements
from tests.support.scripted_http import ScriptedServer
from tests.support.talking import says
from tests.turns.conftest import turn_settings

BOILER = Message("user", "My boiler is from 2014.")
NOTED = Message("assistant", "Noted.")


@pytest.fixture
def core(database_url: str, tmp_path: Path, tenant: str, model: ScriptedServer) -> Iterator[Core]:
    model.always = says(NOTED.content)
    core = open_core(turn_settings(tmp_path, model.url, database=database_url))
    core.identity.create_tenant(tenant)
    yield core
    core.close()


def take(core: Core, ada: Principal, said: Sequence[Message], **more: Any) -> str:
    """A turn of the session s1, to its end. Returns its answer."""
    turn = core.turns.start(ada, said, session="s1", **more)
    events = list(core.turns.follow(ada, turn.id))
    assert events[-1].event == "turn.completed"
    return core.turns.get(ada, turn.id).answer or ""


def rows(core: Core, ada: Principal) -> list[Memory]:
    found = core.memories.list(ada, kind=Kind.CHAT_MESSAGE, session="s1", limit=100).items
    return sorted(found, key=lambda memory: memory.id)


def stored(core: Core, ada: Principal) -> list[str]:
    return [memory.content for memory in rows(core, ada)]


def test_what_is_said_again_is_stored_again(core: Core, ada: Principal) -> None:
    said = ["I took my pill.", "How far is it?", "I took my pill.", "I took my pill."]
    for text in said:
        take(core, ada, [Message("user", text)])
    assert stored(core, ada) == [one for text in said for one in (text, "Noted.")]


@pytest.mark.parametrize("window", [1, 4, 100])
def test_each_message_is_stored_once_however_much_of_the_conversation_is_sent(
    core: Core, ada: Principal, window: int
) -> None:
    said: list[Message] = []
    for text in ("Shall we begin?", "yes", "Is it far?", "Is it cold?", "Is it dry?", "yes"):
        said.append(Message("user", text))
        said.append(Message("assistant", take(core, ada, said[-window:])))
    assert stored(core, ada) == [one.content for one in said]


def test_what_was_said_elsewhere_is_stored_with_the_next_turn(core: Core, ada: Principal) -> None:
    elsewhere = [Message("user", "Is it dry?"), Message("assistant", "Yes."), Message("user", "Is it dry?")]
    take(core, ada, [BOILER])
    said = [BOILER, NOTED, *elsewhere, Message("assistant", "Still."), Message("user", "And now?")]
    take(core, ada, said)
    take(core, ada, [*said, NOTED, Message("user", "Thanks.")])
    assert stored(core, ada) == [*(one.content for one in said), "Noted.", "Thanks.", "Noted."]


@pytest.mark.parametrize("name", [None, "Ada"])
def test_what_the_session_has_by_another_door_is_not_stored_twice(core: Core, ada: Principal, name: str | None) -> None:
    core.ingestion.add_messages(ada, "s1", [Message("user", BOILER.content, name), NOTED], extract=False)
    take(core, ada, [BOILER, NOTED, Message("user", "And yours?")])
    whole = [BOILER.content, "Noted.", "And yours?", "Noted."]
    assert stored(core, ada) == whole
    transcript = "\n".join(f"{('User', 'Assistant')[number % 2]}: {text}" for number, text in enumerate(whole))
    core.extraction.extract_transcript(ada, transcript, session="s1")
    assert stored(core, ada) == whole, "nor by a third"


def test_what_was_forgotten_does_not_come_back_with_the_next_turn(core: Core, ada: Principal) -> None:
    core.ingestion.add_messages(ada, "s1", [BOILER, NOTED], extract=False)
    take(core, ada, [BOILER, NOTED, Message("user", "And yours?")])
    for memory in rows(core, ada)[::2]:
        core.memories.forget(ada, memory.id)
    take(core, ada, [BOILER, NOTED, Message("user", "And yours?"), NOTED, Message("user", "Fine.")])
    assert stored(core, ada) == ["Noted.", "Noted.", "Fine.", "Noted."]


def test_retry_of_a_turn_stores_nothing_and_the_same_turn_anew_does(core: Core, ada: Principal) -> None:
    for key in ("first", "first", "second"):
        take(core, ada, [Message("user", "yes")], idempotency_key=key)
    assert stored(core, ada) == ["yes", "Noted."] * 2


def test_turns_at_once_store_what_was_said_before_them_once(core: Core, ada: Principal) -> None:
    before = [BOILER, NOTED, BOILER]

    def keep(_: int) -> list[Memory]:
        return core.extraction.keep_messages(ada, "s1", [Message("user", "yes")], turn=new_id("turn"), before=before)

    with ThreadPoolExecutor(8) as threads:
        kept = [memory.id for some in threads.map(keep, range(8)) for memory in some]
    assert sorted(stored(core, ada)) == sorted([*(one.content for one in before), *["yes"] * 8])
    assert sorted(kept) == [memory.id for memory in rows(core, ada)]


def test_answer_is_stored_before_it_is_told(core: Core, ada: Principal) -> None:
    """Or the next turn, which begins with it, would store it as well."""
    turn = core.turns.start(ada, [BOILER], session="s1")
    for event in core.turns.follow(ada, turn.id):
        if event.event == "synthesis":
            assert stored(core, ada) == [BOILER.content, "Noted."]


@pytest.mark.parametrize("sent", [0, 10])
def test_turn_of_a_long_session_reads_no_more_of_it_than_it_needs(
    core: Core, ada: Principal, sent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = [Message(("user", "assistant")[number % 2], f"Message {number}.") for number in range(400)]
    core.ingestion.add_messages(ada, "s1", long, extract=False)
    read: list[Memory] = []

    def memory_from_row(row: tuple[Any, ...]) -> Memory:
        read.append(rows_of_stores.memory_from_row(row))
        return read[-1]

    for module in (memory_statements, surrounding_statements):
        monkeypatch.setattr(module, "memory_from_row", memory_from_row)
    take(core, ada, [*long[len(long) - sent :], Message("user", "And now?")], include_memory=False)
    assert len(read) < 150
    monkeypatch.undo()
    assert stored(core, ada)[-4:] == ["Message 398.", "Message 399.", "And now?", "Noted."]
