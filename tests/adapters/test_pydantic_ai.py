"""The toolset of Pydantic AI, run by an agent whose model is a function."""

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memorist import tools
from memorist.adapters.pydantic_ai import MemoristToolset
from memorist.client import Client
from memorist.errors import NotFound
from memorist.platform.values import Role
from memorist.verbs import Verbs
from tests.http.conftest import Served


class Script:
    """A model that calls the tools that are written for it, and then says that it is done."""

    def __init__(self, *calls: tuple[str, Any]) -> None:
        self.calls = list(calls)
        self.seen: list[Any] = []
        self.shown: dict[str, Any] = {}

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.shown = {tool.name: tool for tool in info.function_tools}
        self.seen += [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if not self.calls:
            return ModelResponse(parts=[TextPart("done")])
        name, arguments = self.calls.pop(0)
        return ModelResponse(parts=[ToolCallPart(name, arguments)])


def run(script: Script, toolset: MemoristToolset[Any]) -> str:
    agent = Agent(FunctionModel(script), toolsets=[toolset])
    return str(asyncio.run(agent.run("Go.")).output)


def test_agent_sees_the_tools_of_the_registry_as_they_are(memories: Verbs) -> None:
    script = Script()
    assert run(script, MemoristToolset(memories)) == "done"
    assert list(script.shown) == [tool.name for tool in tools.tools()]
    for tool in tools.tools():
        assert script.shown[tool.name].description == tool.description
        assert script.shown[tool.name].parameters_json_schema == tool.input_schema()
        assert script.shown[tool.name].sequential is tool.writes


def test_agent_remembers_and_recalls(memories: Verbs) -> None:
    script = Script(
        ("remember_fact", {"content": "Ada lives in Turin."}), ("recall", {"query": "Where does Ada live?"})
    )
    assert run(script, MemoristToolset(memories)) == "done"
    stored, recalled = (part.content for part in script.seen)
    assert stored["was_new"] is True
    assert recalled["items"][0]["content"] == "Ada lives in Turin."


def test_model_is_asked_to_put_its_mistake_right(memories: Verbs) -> None:
    script = Script(("recall", {"question": "x"}), ("recall", {"query": "x"}))
    assert run(script, MemoristToolset(memories)) == "done"
    assert script.seen[0].outcome == "retried"
    assert "query" in str(script.seen[0].content)
    assert script.seen[1].content["total"] == 0


def test_model_is_told_what_it_may_not_do(by_keyword: Served, tenant: str) -> None:
    with Client(by_keyword.url, api_key=by_keyword.key(tenant, Role.READER, "ada")) as reader:
        script = Script(("remember_fact", {"content": "No."}))
        assert run(script, MemoristToolset(reader)) == "done"
    assert script.seen[0].outcome == "failed"
    assert "only reads" in script.seen[0].content


def test_agent_goes_on_while_the_server_is_away(away: Client, caplog: pytest.LogCaptureFixture) -> None:
    script = Script()
    assert run(script, MemoristToolset(away, only=["recall"])) == "done"
    assert script.shown == {}
    assert "did not answer" in caplog.text


def test_model_is_told_that_the_server_went_away(
    away: Client, memories: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(("recall", {"query": "x"}))
    toolset = MemoristToolset[Any](memories)

    def go_away(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Once the model was shown the tools."""
        monkeypatch.setattr(toolset, "_memories", away)
        return script(messages, info)

    agent = Agent(FunctionModel(go_away), toolsets=[toolset])
    assert asyncio.run(agent.run("Go.")).output == "done"
    assert script.seen[0].outcome == "failed"
    assert "did not answer" in script.seen[0].content
    assert list(script.shown) == [tool.name for tool in tools.tools()]


def test_some_tools_can_be_chosen(memories: Verbs) -> None:
    script = Script()
    run(script, MemoristToolset(memories, only=["recall"]))
    assert list(script.shown) == ["recall"]
    with pytest.raises(NotFound, match="recal"):
        run(Script(), MemoristToolset(memories, only=["recal"]))
