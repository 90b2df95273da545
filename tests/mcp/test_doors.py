"""Every tool, the resources and the prompt, over every transport, with both revisions, on both databases."""

import json

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, TextContent, TextResourceContents

from memorist import tools
from memorist.errors import Unauthenticated
from memorist.ingestion.service import Message
from memorist.memories.values import Kind
from memorist.platform.values import Principal, Role
from memorist.surfaces.mcp.server import ABOUT_URI, PROTOCOL, SECTION_NAME, SECTION_URI, ForwardedMemory
from tests.http.conftest import Served
from tests.mcp.conftest import PREVIOUS, Door, call, refused, run

NOTE = {"name": "feedback_tests", "type": "feedback", "description": "Real databases", "body": "Never mock."}


async def read(client: Client, uri: str) -> str:
    [found] = (await client.read_resource(uri)).contents
    assert isinstance(found, TextResourceContents)
    return found.text


async def shows_resources_and_prompt(client: Client) -> None:
    section = await read(client, SECTION_URI)
    assert "- feedback_tests (feedback): Real databases" in section
    assert [str(one.uri) for one in (await client.list_resources()).resources] == [SECTION_URI, ABOUT_URI]
    [template] = (await client.list_resource_templates()).resource_templates
    assert template.uri_template == f"{ABOUT_URI}/{{person}}"
    about = await read(client, ABOUT_URI)
    assert about.startswith("<memories>")
    assert "Ada's editor is Helix." in about
    assert "feedback_tests" not in about
    helix = await read(client, f"{ABOUT_URI}/helix")
    assert "# Helix (1 fact)" in helix
    with pytest.raises(MCPError, match="Nothing is known of Zoe Ü"):
        await client.read_resource(f"{ABOUT_URI}/Zoe%20%C3%9C")
    assert [one.name for one in (await client.list_prompts()).prompts] == [SECTION_NAME]
    section = await read(client, SECTION_URI)
    prompt = (await client.get_prompt(SECTION_NAME)).messages[0].content
    assert isinstance(prompt, TextContent)
    assert prompt.text == f"{section}\n\n{PROTOCOL}"


async def refuses_what_is_not_there(client: Client) -> None:
    error = await refused(client, "memory_read", name="feedback_tests")
    assert error["code"] == "not_found"
    assert "memory_list" in error["message"]
    assert (await refused(client, "recall"))["field"] == "query"
    assert (await refused(client, "recall", query="x", user="other"))["field"] == "user"
    assert (await call(client, "recall", query="xylophone", tenant="other"))["total"] == 0
    whole = {"name": "recall", "arguments": {"query": "xylophone"}}
    assert (await call(client, "recall", **whole))["total"] == 0
    with pytest.raises(MCPError, match=r"There is no tool 'forget_all'\. There are recall, ") as unknown:
        await client.call_tool("forget_all", {})
    assert unknown.value.error.code == INVALID_PARAMS
    with pytest.raises(MCPError, match=SECTION_URI):
        await client.read_resource("memory://else")
    with pytest.raises(MCPError, match=SECTION_NAME):
        await client.get_prompt("else")
    assert json.dumps(await call(client, "recall", query="tea ☕ \U0001f375"))


def test_every_tool_does_its_work(door: Door) -> None:
    ada = Principal(door.tenant, Role.USER, "ada")
    core = door.served.core
    door.served.key(door.tenant, Role.USER, "ada")  # Makes the tenant.
    output = core.ingestion.add_tool_output(ada, "s1", tool_call_id="c1", tool_name="sql", content="x" * 9000)
    core.ingestion.add_messages(ada, "s1", [Message("user", "The deploy is on Friday.")], extract=False)

    async def work() -> None:
        async with door.connect() as client:
            assert client.session.protocol_version == door.revision
            if door.revision == PREVIOUS:  # The other one has no handshake that would carry it.
                assert client.instructions == PROTOCOL
            listed = (await client.list_tools()).tools
            shown = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed]
            assert shown == tools.schemas("mcp")

            fact = await call(client, "remember_fact", content="Ada's editor is Helix.", idempotency_key="k1")
            assert await call(client, "remember_fact", content="Ada's editor is Helix.", idempotency_key="k1") == fact
            found = await call(client, "recall", query="editor")
            assert [item["id"] for item in found["items"]] == [fact["id"]]
            assert (await call(client, "recall", query="deploy Friday"))["items"][0]["source_kind"] == "chat_message"
            whole = await call(client, "read_tool_output", tool_output_key=output.key)
            assert whole["content"] == "x" * 9000

            assert (await call(client, "memory_write", **NOTE))["was_new"] is True
            assert (await call(client, "memory_write", **NOTE))["was_new"] is False
            rows = (await call(client, "memory_list"))["memories"]
            assert [(row["name"], row["description"]) for row in rows] == [("feedback_tests", "Real databases")]
            assert (await call(client, "memory_read", name="feedback_tests"))["body"] == "Never mock."
            await shows_resources_and_prompt(client)
            assert (await call(client, "memory_delete", name="feedback_tests"))["deleted"] is True
            assert (await call(client, "memory_list"))["total"] == 0
            await refuses_what_is_not_there(client)

    run(work)
    assert [one.content for one in core.memories.list(ada, kind=Kind.FACT).items] == ["Ada's editor is Helix."]


def test_reader_key_writes_through_no_tool(some_door: Door) -> None:
    ada = Principal(some_door.tenant, Role.USER, "ada")
    some_door.served.key(some_door.tenant, Role.USER, "ada")
    tools.run(some_door.served.core, ada, "memory_write", NOTE)
    arguments = {
        "remember_fact": {"content": "x"},
        "memory_write": NOTE | {"body": "Changed."},
        "memory_delete": {"name": NOTE["name"]},
    }
    assert set(arguments) == {tool.name for tool in tools.tools() if tool.writes}

    async def work() -> None:
        async with some_door.connect(Role.READER) as client:
            for name, given in arguments.items():
                assert (await refused(client, name, **given))["code"] == "forbidden"
            assert (await call(client, "memory_read", name=NOTE["name"]))["body"] == NOTE["body"]
            assert (await call(client, "recall", query="nothing"))["total"] == 0

    run(work)


def test_key_of_an_agent_reads_the_section_of_that_agent(served: Served, tenant: str) -> None:
    note = {"name": "user_tea", "type": "user", "description": "Likes tea", "body": "Green."}
    forwarded = ForwardedMemory(served.url, served.key(tenant, Role.USER, "ada", "coder"), {})
    forwarded.run("memory_write", note)
    assert "user_tea" in forwarded.section()
    forwarded.close()
    other = ForwardedMemory(served.url, served.key(tenant, Role.USER, "ada"), {})
    assert "user_tea" not in other.section()
    other.close()


@pytest.mark.parametrize("served", ["sqlite"], indirect=True)
def test_names_of_any_script_are_forwarded(served: Served, tenant: str) -> None:
    key = served.key(tenant, Role.SERVICE)
    forwarded = ForwardedMemory(served.url, key, {"user": "Zoë", "agent": "код", "session": "会"})
    forwarded.run("memory_write", NOTE)
    forwarded.close()
    [found] = served.core.memories.list(Principal(tenant, Role.ADMIN), every_agent=True).items
    assert (found.owner.user, found.owner.agent) == ("Zoë", "код")


def test_key_that_cannot_be_forwarded_is_not_quoted() -> None:
    with pytest.raises(Unauthenticated) as caught:
        ForwardedMemory("http://127.0.0.1:9", "mst_live_\nsecret", {})
    assert "cret" not in caught.value.message
