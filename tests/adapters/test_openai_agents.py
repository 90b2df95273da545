"""A session of the OpenAI Agents SDK: the protocol, and real runs with a model that is written out."""

import asyncio
from typing import Any

import pytest
from agents import Agent, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from memorist.adapters.openai_agents import MemoristSession
from memorist.errors import InvalidField
from memorist.ingestion.service import Message
from memorist.verbs import Verbs

set_tracing_disabled(True)

HELLO: Any = {"role": "user", "content": "Hello, I am Ada."}
ANSWER: Any = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Hello Ada.", "annotations": []}],
}
CALL: Any = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'}
OUTPUT: Any = {"type": "function_call_output", "call_id": "c1", "output": "Sunny"}


@pytest.fixture
def session(memories: Verbs, session_id: str) -> MemoristSession:
    return MemoristSession(memories, session_id)


def test_it_is_a_session(session: MemoristSession) -> None:
    assert isinstance(session, Session)


def test_items_come_back_as_they_were_in_their_order(session: MemoristSession) -> None:
    async def main() -> None:
        await session.add_items([HELLO, ANSWER])
        await session.add_items([CALL, OUTPUT])
        await session.add_items([])
        assert await session.get_items() == [HELLO, ANSWER, CALL, OUTPUT]
        assert await session.get_items(limit=2) == [CALL, OUTPUT]
        assert await session.get_items(limit=0) == []

    asyncio.run(main())


def test_limit_of_the_settings_holds_unless_another_is_given(memories: Verbs, session_id: str) -> None:
    async def main() -> None:
        session = MemoristSession(memories, session_id, SessionSettings(limit=1))
        await session.add_items([HELLO, ANSWER])
        assert await session.get_items() == [ANSWER]
        assert await session.get_items(limit=5) == [HELLO, ANSWER]

    asyncio.run(main())


def test_pop_takes_the_latest_and_clear_takes_all(session: MemoristSession) -> None:
    async def main() -> None:
        await session.add_items([HELLO, ANSWER, CALL])
        assert await session.pop_item() == CALL
        assert await session.get_items() == [HELLO, ANSWER]
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None

    asyncio.run(main())


def test_no_item_is_popped_twice(session: MemoristSession) -> None:
    async def main() -> None:
        await session.add_items([{"role": "user", "content": str(number)} for number in range(6)])
        popped: list[Any] = await asyncio.gather(*(session.pop_item() for _ in range(6)))
        assert sorted(item["content"] for item in popped) == list("012345")

    asyncio.run(main())


def test_items_larger_than_a_note_come_back_whole(session: MemoristSession) -> None:
    async def main() -> None:
        large: Any = {"type": "function_call_output", "call_id": "c1", "output": "é" * 100_000}
        await session.add_items([large, HELLO])
        assert await session.get_items() == [large, HELLO]

    asyncio.run(main())


def test_whatever_a_tool_returned_comes_back_as_it_was(session: MemoristSession) -> None:
    deep: Any = {"end": True}
    for _ in range(40):
        deep = [deep]
    items: Any = [
        {"type": "function_call_output", "call_id": "c1", "output": "before\x00after"},
        {"type": "function_call_output", "call_id": "c2", "output": "half \ud83d of a pair"},
        {"type": "function_call_output", "call_id": "c3", "output": "", "details": deep},
        {"role": "user", "content": "\ud800\x00"},
        HELLO,
    ]

    async def main() -> None:
        await session.add_items(items)
        assert await session.get_items() == items

    asyncio.run(main())


def test_items_are_stored_in_parts_where_they_are_many(session: MemoristSession) -> None:
    async def main() -> None:
        many: Any = [{"role": "user", "content": f"message {number}"} for number in range(1_003)]
        large: Any = [{"role": "user", "content": f"{number} {'é' * 100_000}"} for number in range(7)]
        await session.add_items([*many, *large])
        assert await session.get_items(limit=9) == [*many[-2:], *large]
        assert len(await session.get_items()) == 1_010

    asyncio.run(main())


def test_more_items_than_a_page(session: MemoristSession) -> None:
    async def main() -> None:
        items: Any = [{"role": "user", "content": f"message {number}"} for number in range(130)]
        await session.add_items(items)
        assert await session.get_items() == items

    asyncio.run(main())


def test_sessions_are_apart_and_messages_of_other_origin_are_items_too(memories: Verbs, session_id: str) -> None:
    async def main() -> None:
        one, other = MemoristSession(memories, session_id), MemoristSession(memories, f"{session_id}-b")
        await one.add_items([HELLO])
        memories.add_messages(session_id, [Message("assistant", "From elsewhere.")])
        assert await one.get_items() == [HELLO, {"role": "assistant", "content": "From elsewhere."}]
        assert await other.get_items() == []

    asyncio.run(main())
    with pytest.raises(InvalidField):
        MemoristSession(memories, "two words")


class WrittenModel(Model):
    """Answers what is written for it, and keeps what it was asked."""

    def __init__(self, *outputs: Any) -> None:
        self.outputs = list(outputs)
        self.asked: list[Any] = []

    async def get_response(self, *_: Any, input: Any, **__: Any) -> ModelResponse:
        self.asked.append(input)
        return ModelResponse(output=[self.outputs.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def said(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[content])


@function_tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"It rains in {city}."


def test_agent_goes_on_where_the_last_run_ended(memories: Verbs, session_id: str) -> None:
    call = ResponseFunctionToolCall(
        type="function_call", call_id="c1", name="weather", arguments='{"city": "Lisbon"}', id="f1"
    )
    model = WrittenModel(call, said("It rains."), said("You asked about Lisbon."))
    agent = Agent(name="helper", model=model, tools=[weather])

    async def main() -> None:
        session = MemoristSession(memories, session_id)
        first = await Runner.run(agent, "How is the weather in Lisbon?", session=session)
        assert first.final_output == "It rains."
        second = await Runner.run(agent, "What did I ask?", session=session)
        assert second.final_output == "You asked about Lisbon."

    asyncio.run(main())
    asked = str(model.asked[-1])
    for part in ("How is the weather in Lisbon?", "It rains in Lisbon.", "It rains.", "What did I ask?"):
        assert part in asked
    hits = memories.recall("weather in Lisbon").hits
    assert any("Lisbon" in hit.excerpt for hit in hits)
