"""What guards `/mcp`: keys, roles, tenants, hosts, origins and sizes; and that it keeps no state."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memorist import tools
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.testing import new_tenant
from tests.http.conftest import Served, serving
from tests.mcp.conftest import CURRENT, PREVIOUS, call, over_http, refused, run

ACCEPT = "application/json, text/event-stream"


def initialize(revision: str) -> dict[str, Any]:
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def tool_call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


@pytest.fixture
def ada(served: Served, tenant: str) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"Bearer {served.key(tenant, Role.USER, 'ada')}", "Accept": ACCEPT}
    with httpx2.Client(base_url=served.url, headers=headers, timeout=30) as client:
        yield client


@pytest.mark.parametrize("revision", [PREVIOUS, "2025-06-18", "2025-03-26", "2024-11-05"])
def test_older_revisions_are_negotiated(ada: httpx2.Client, revision: str) -> None:
    answer = ada.post("/mcp", json=initialize(revision)).json()["result"]
    assert answer["protocolVersion"] == revision
    assert {"tools", "resources", "prompts"} <= answer["capabilities"].keys()


def test_requests_stand_for_themselves(ada: httpx2.Client) -> None:
    """No handshake and no session before a call: another process may have answered those."""
    answer = ada.post("/mcp", json=tool_call("memory_list"), headers={"MCP-Protocol-Version": PREVIOUS})
    assert answer.json()["result"]["structuredContent"]["total"] == 0
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_to_keep_open(ada: httpx2.Client, method: str) -> None:
    answer = ada.request(method, "/mcp")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("authorization", [None, "Bearer nonsense", "Basic YTpi"])
def test_key_is_needed(served: Served, authorization: str | None) -> None:
    headers = {"Accept": ACCEPT} | ({"Authorization": authorization} if authorization else {})
    answer = httpx2.post(f"{served.url}/mcp", json=initialize(PREVIOUS), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_revoked_key_ends_at_once(served: Served, tenant: str, ada: httpx2.Client) -> None:
    assert ada.post("/mcp", json=tool_call("memory_list")).status_code == 200
    operator = Principal(tenant, Role.ADMIN)
    for key in served.core.identity.list_keys(operator):
        served.core.identity.revoke_key(operator, key.id)
    assert ada.post("/mcp", json=tool_call("memory_list")).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost:8377"}, 200),
        ({"Host": "127.0.0.1"}, 200),
        ({"Host": "[::1]:1"}, 200),
        ({"Host": "192.168.1.7:8377"}, 200),
        ({"Host": "memory.example.org"}, 200),
        ({"Host": "MEMORY.example.org.:443"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "localhost.evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "memory.example.org.evil.example"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "["}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "http://127.0.0.1:8377"}, 200),
        ({"Origin": "https://memory.example.org"}, 200),
        ({"Host": "192.168.1.7:8377", "Origin": "http://192.168.1.7:8377"}, 200),
        ({"Origin": "http://192.168.1.66"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
    ],
)
def test_host_and_origin_are_checked(named: Served, headers: dict[str, str], status: int) -> None:
    key = named.key(new_tenant(), Role.USER, "ada")
    sent = {"Authorization": f"Bearer {key}", "Accept": ACCEPT, **headers}
    answer = httpx2.post(f"{named.url}/mcp", json=initialize(PREVIOUS), headers=sent)
    assert answer.status_code == status, answer.text
    if status == 403:
        assert answer.json()["code"] == "forbidden"


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("named")
    hosts = "other.example, Memory.example.org"
    with serving(Settings(data=folder, port=0, embedder="off", reranker="off", allowed_hosts=hosts)) as server:
        yield server


def test_body_is_limited_as_elsewhere(ada: httpx2.Client) -> None:
    big = json.dumps(tool_call("remember_fact", content="x" * 1_100_000)).encode()
    answer = ada.post("/mcp", content=big, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")
    chunks = (big[start : start + 65_536] for start in range(0, len(big), 65_536))
    answer = ada.post("/mcp", content=chunks, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"nonsense", b'{"jsonrpc": "2.0"}', b"\xff\xfe", b"1" * 5000])
def test_nonsense_is_refused(ada: httpx2.Client, body: bytes) -> None:
    answer = ada.post("/mcp", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert ada.post("/mcp", json=tool_call("memory_list")).status_code == 200


@pytest.mark.parametrize("revision", [CURRENT, PREVIOUS])
@pytest.mark.parametrize("request_id", [None, 1.5, True, {}])
def test_request_with_an_id_that_is_none_is_told_so(ada: httpx2.Client, revision: str, request_id: object) -> None:
    asked = tool_call("remember_fact", content="Ada likes tea.") | {"id": request_id}
    answer = ada.post("/mcp", json=asked, headers={"MCP-Protocol-Version": revision})
    assert answer.status_code == 400
    error = {"code": -32600, "message": "The id of a request must be a string or a whole number."}
    assert answer.json() == {"jsonrpc": "2.0", "id": None, "error": error}
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert ada.post("/mcp", json=notification, headers={"MCP-Protocol-Version": PREVIOUS}).status_code == 202


@pytest.mark.parametrize("revision", [CURRENT, PREVIOUS, "2025-03-26"])
@pytest.mark.parametrize("start", [b"[", b" \r\n\t["])
def test_batch_is_refused_in_a_few_words(ada: httpx2.Client, revision: str, start: bytes) -> None:
    calls = json.dumps([tool_call("memory_list"), tool_call("remember_fact", content="Ada likes tea.")]).encode()
    headers = {"Content-Type": "application/json", "MCP-Protocol-Version": revision}
    whole = start + calls[1:]
    for content in (whole, iter([whole[:1], whole[1:]])):
        answer = ada.post("/mcp", content=content, headers=headers)
        assert answer.status_code == 400
        error = {"code": -32600, "message": "Batches are not taken: send each message in a request of its own."}
        assert answer.json() == {"jsonrpc": "2.0", "id": None, "error": error}
    assert ada.post("/mcp", json=tool_call("recall", query="tea")).json()["result"]["structuredContent"]["total"] == 0


def test_body_in_pieces_is_read_whole(ada: httpx2.Client) -> None:
    body = b"\n " + json.dumps(tool_call("memory_list")).encode()
    pieces = (body[at : at + 1] for at in range(len(body)))
    answer = ada.post("/mcp", content=pieces, headers={"Content-Type": "application/json"})
    assert answer.json()["result"]["structuredContent"]["total"] == 0


def test_service_acts_for_whom_the_headers_name(served: Served, tenant: str) -> None:
    key = served.key(tenant, Role.SERVICE)

    async def work() -> None:
        for user in ("ada", "bob"):
            async with over_http(served.url, key, headers={"X-Memorist-User": user}) as client:
                await call(client, "remember_fact", content=f"{user} likes tea.")
                found = (await call(client, "recall", query="tea"))["items"]
                assert [item["content"] for item in found] == [f"{user} likes tea."]
        async with over_http(served.url, key) as client:
            note = {"name": "x", "type": "user", "description": "x", "body": "x"}
            assert (await refused(client, "memory_write", **note))["code"] == "forbidden"

    run(work)


def test_user_key_does_not_act_for_another(served: Served, tenant: str) -> None:
    headers = {"Authorization": f"Bearer {served.key(tenant, Role.USER, 'ada')}", "X-Memorist-User": "bob"}
    answer = httpx2.post(f"{served.url}/mcp", json=tool_call("memory_list"), headers={**headers, "Accept": ACCEPT})
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_tenants_and_users_do_not_see_each_other(served: Served, tenant: str) -> None:
    others = {"tenant": served.key(new_tenant(), Role.ADMIN, "ada"), "user": served.key(tenant, Role.USER, "bob")}
    served.key(tenant, Role.USER, "ada")
    ada = Principal(tenant, Role.USER, "ada")
    tools.run(served.core, ada, "remember_fact", {"content": "Ada's secret tea."})
    note = {"name": "user_tea", "type": "user", "description": "Tea", "body": "Green."}
    tools.run(served.core, ada, "memory_write", note)

    async def work() -> None:
        for key in others.values():
            async with over_http(served.url, key, CURRENT) as client:
                assert (await call(client, "recall", query="secret tea"))["total"] == 0
                assert (await call(client, "memory_list"))["total"] == 0
                assert (await refused(client, "memory_read", name="user_tea"))["code"] == "not_found"
                assert (await refused(client, "memory_delete", name="user_tea"))["code"] == "not_found"
                section = (await client.read_resource("memory://section")).contents[0]
                assert "user_tea" not in section.text  # type: ignore[union-attr]

    run(work)


def test_secret_in_a_refused_argument_is_not_echoed(ada: httpx2.Client) -> None:
    key = f"AKIA{'Q3EGRIZ7X2M4PL5K'}"
    answer = ada.post("/mcp", json=tool_call("memory_read", name=f"{key.lower()} {key}"))
    assert answer.json()["result"]["isError"] is True
    assert key not in answer.text
