"""`memorist mcp` as a process: a clean stdout, an orderly end, and a server that is not there."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from memorist.bootstrap import open_core
from memorist.platform.values import Principal, Role
from memorist.surfaces.mcp.server import ABOUT_URI, SECTION_URI
from tests.mcp.conftest import call, over_stdio, refused, run, stdio
from tests.mcp.test_http import initialize, tool_call
from tests.support.stores import bare


def start(folder: Path, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
    parameters = stdio("--data", str(folder), *arguments, **environment)
    return subprocess.Popen(
        [parameters.command, *parameters.args],
        env=parameters.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="surrogateescape",
    )


def ask(process: "subprocess.Popen[str]", message: dict[str, Any]) -> dict[str, Any]:
    return tell(process, json.dumps(message))


def tell(process: "subprocess.Popen[str]", line: str) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def test_stdout_is_the_protocol_alone_and_ends_with_stdin(tmp_path: Path) -> None:
    with start(tmp_path, MEMORIST_LOG_LEVEL="debug") as process:
        assert ask(process, initialize("2025-06-18"))["result"]["protocolVersion"] == "2025-06-18"
        assert process.stdin is not None
        process.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n\nnonsense\n')
        lines = [ask(process, {"jsonrpc": "2.0", "id": 7, "method": "ping"})]
        assert process.stdout is not None
        while lines[-1].get("id") != 7:
            lines.append(json.loads(process.stdout.readline()))
        stored = ask(process, tool_call("remember_fact", content="Ada likes tea."))
        assert stored["result"]["structuredContent"]["was_new"] is True
        rest, _ = process.communicate(timeout=30)
        assert (rest, process.returncode) == ("", 0)


HALF = r'{"jsonrpc": "2.0", "id": 31, "method": "tools/call", "params": {"name": "memory_read", "said": "\ud83d"}}'
"""Half an emoji, as JavaScript writes it of a string that was cut."""


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (HALF, -32700, 31),
        (HALF.replace("31", r'"\ud83d"'), -32700, None),
        (HALF.replace("tools/call", "tools/call\udcff"), -32700, 31),  # Not UTF-8.
        ("nonsense", -32700, None),
        ('{"jsonrpc": "2.0", "id": 5', -32700, None),
        ('{"id": "a", "method": "ping"}', -32600, "a"),
        ('{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": [1]}', -32600, 5),
        ('{"jsonrpc": "2.0", "id": 5}', -32600, 5),
        ('{"jsonrpc": "2.0", "id": 5, "method": "ping", "error": {"code": 1, "message": "x"}}', -32600, 5),
        ('{"jsonrpc": "2.0", "id": 5, "method": "ping", "result": {}}', -32600, 5),
        ('{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None),
        ('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600, None),
        ('{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, None),
        ('[{"jsonrpc": "2.0", "id": 5, "method": "ping"}]', -32600, None),
        ("5", -32600, None),
    ],
)
def test_what_is_no_message_is_answered(
    listening: "subprocess.Popen[str]", line: str, code: int, request_id: int | str | None
) -> None:
    answer = tell(listening, line)
    assert (answer["id"], answer["error"]["code"]) == (request_id, code)
    assert ask(listening, {"jsonrpc": "2.0", "id": 32, "method": "ping"}) == {"jsonrpc": "2.0", "id": 32, "result": {}}


def test_what_asks_for_nothing_is_not_answered(listening: "subprocess.Popen[str]") -> None:
    assert listening.stdin is not None
    listening.stdin.write('\n \r\n{"jsonrpc": "2.0", "id": 4, "result": "?"}\n{"jsonrpc": "2.0", "method": "what"}\n')
    assert ask(listening, {"jsonrpc": "2.0", "id": 33, "method": "ping"})["id"] == 33


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[str]"]:
    with start(tmp_path_factory.mktemp("listening")) as process:
        ask(process, initialize("2025-06-18"))
        yield process
        process.communicate(timeout=30)


def test_what_was_asked_before_stdin_ended_is_answered(tmp_path: Path) -> None:
    note = {"name": "user_tea", "type": "user", "description": "x", "body": "y"}
    calls = [
        tool_call("remember_fact", content="Ada likes tea."),
        tool_call("recall", query="tea"),
        tool_call("memory_write", **note),
        {"jsonrpc": "2.0", "method": "resources/list"},
    ]
    asked = [initialize("2025-06-18"), {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    asked += [call | {"id": f"c{number}"} for number, call in enumerate(calls)]
    asked.append({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "nobody"}})
    with start(tmp_path) as process:
        out, _ = process.communicate("".join(json.dumps(message) + "\n" for message in asked), timeout=60)
    answers = {answer["id"]: answer for answer in map(json.loads, out.splitlines())}
    assert answers.keys() == {1, "c0", "c1", "c2", "c3"}
    assert all("result" in answer for answer in answers.values())
    assert answers["c2"]["result"]["structuredContent"]["was_new"] is True
    assert process.returncode == 0


def test_client_that_reads_no_more_ends_it_by_closing_stdin(tmp_path: Path) -> None:
    with start(tmp_path) as process:
        ask(process, initialize("2025-06-18"))
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        for number in range(3):
            process.stdin.write(json.dumps(tool_call("remember_fact", content=f"Ada likes tea {number}.")) + "\n")
        process.stdin.close()
        assert process.wait(timeout=30) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_revoked_key_stops_at_once(tmp_path: Path) -> None:
    core = open_core(bare(str(tmp_path / "memorist.db")))
    core.identity.create_tenant("acme")
    admin = Principal("acme", Role.ADMIN)
    key, secret = core.identity.create_key(admin, Role.USER, user="ada")

    async def work() -> None:
        async with over_stdio(stdio("--data", str(tmp_path), MEMORIST_API_KEY=secret)) as client:
            await call(client, "remember_fact", content="Ada likes tea.")
            core.identity.revoke_key(admin, key.id)
            for tool, arguments in (("remember_fact", {"content": "x"}), ("recall", {"query": "tea"})):
                assert (await refused(client, tool, **arguments))["code"] == "unauthenticated"
            for uri in (SECTION_URI, ABOUT_URI):
                with pytest.raises(MCPError, match="revoked"):
                    await client.read_resource(uri)

    try:
        run(work)
        assert [one.content for one in core.memories.list(admin).items] == ["Ada likes tea."]
    finally:
        core.close()


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signal_ends_it_and_what_was_acknowledged_stays(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    with start(tmp_path) as process:
        ask(process, initialize("2025-06-18"))
        assert ask(process, tool_call("remember_fact", content="Ada likes tea."))["result"]["isError"] is False
        process.send_signal(sent)
        assert process.wait(timeout=30) == code
    core = open_core(bare(str(tmp_path / "memorist.db")))
    try:
        found = core.memories.list(Principal("local", Role.USER, "local"))
        assert [memory.content for memory in found.items] == ["Ada likes tea."]
    finally:
        core.close()


def test_model_without_an_agent_is_told_what_to_do_instead(tmp_path: Path) -> None:
    async def work() -> None:
        async with over_stdio(stdio("--data", str(tmp_path))) as client:
            for tool, arguments in (("remember_fact", {"content": "x"}), ("recall", {"query": "x"})):
                error = await refused(client, tool, **arguments, scope="agent")
                assert (error["code"], error["field"]) == ("invalid_field", "scope")
                assert "use scope user, or name one with --agent" in error["message"]
                await call(client, tool, **arguments, scope="user")

    run(work)


def test_identity_comes_from_the_flags(tmp_path: Path) -> None:
    async def work() -> None:
        who = ("--tenant", "acme", "--user", "ada", "--agent", "coder", "--session", "s1")
        async with over_stdio(stdio("--data", str(tmp_path), *who)) as client:
            await call(client, "remember_fact", content="For the agent.", scope="agent")
            await call(client, "memory_write", name="a_b", type="user", description="x", body="y")

    run(work)
    core = open_core(bare(str(tmp_path / "memorist.db")))
    try:
        found = core.memories.list(Principal("acme", Role.ADMIN)).items
        assert {(one.owner.user, one.owner.agent, one.session) for one in found} == {
            (None, "coder", None),
            ("ada", "coder", None),
        }
    finally:
        core.close()


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "told"),
    [
        (["--user", "a b"], {}, 2, "user"),
        (["--key", "nonsense"], {}, 4, "unauthenticated"),
        (["--json"], {}, 2, "--json"),
        ([], {"MEMORIST_PORT": "x"}, 2, "MEMORIST_PORT"),
    ],
)
def test_what_cannot_be_served_is_told_on_stderr(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], code: int, told: str
) -> None:
    with start(tmp_path, *arguments, **environment) as process:
        out, err = process.communicate(timeout=30)
    assert (out, process.returncode) == ("", code)
    assert told in err


def test_server_that_is_not_there_is_an_error_that_says_what_to_do() -> None:
    async def work() -> None:
        async with over_stdio(stdio(MEMORIST_URL="http://127.0.0.1:9"), "2025-11-25") as client:
            error = await refused(client, "recall", query="tea")
            assert error["code"] == "store_unavailable"
            assert "MEMORIST_URL" in error["message"]

    run(work)
