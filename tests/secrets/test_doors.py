"""A secret on every way in, through a real server and the command line; then a search of files, logs and answers."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.conftest import Cli, clean_environment, cli  # noqa: F401 - fixtures
from tests.http.test_server import local_key, running
from tests.secrets.conftest import new_token
from tests.support.stores import bytes_in

MARKER = "[REDACTED:github-token]"

Send = Callable[[httpx2.Client, str], httpx2.Response]


def post(path: str, **body: Any) -> tuple[str, Send]:
    """A request in whose texts TOKEN stands for the secret."""

    def send(client: httpx2.Client, token: str) -> httpx2.Response:
        return client.post(path.replace("TOKEN", token), json=json.loads(json.dumps(body).replace("TOKEN", token)))

    return path, send


NEW = {"type": "user", "name": "notes", "description": "About TOKEN", "body": "The body TOKEN."}
STORED = [
    post("/v1/memories", **NEW),
    post("/v1/sessions/one/messages", messages=[{"role": "user", "content": "use TOKEN", "name": "TOKEN"}]),
    post("/v1/sessions/one/tool-outputs", tool_call_id="TOKEN", tool_name="TOKEN", content="TOKEN " * 500),
    post("/v1/documents", title="TOKEN", content="# TOKEN\n\nIt is TOKEN.", media_type="text/markdown"),
    post("/v1/tools/remember_fact", content="The key is TOKEN", scope="user"),
    post("/v1/tools/recall", query="where is TOKEN?"),
    post("/memory/add", content="lifecycle TOKEN", metadata={"password": "TOKEN", "TOKEN": 1}),
    post("/memory/query", query="lifecycle TOKEN"),
]
REFUSED = [
    post("/v1/memories", **{**NEW, "name": "TOKEN"}),
    post("/v1/sessions/TOKEN/messages", messages=[{"role": "user", "content": "hello"}]),
    post("/v1/sessions/one/messages", messages=[{"role": "TOKEN TOKEN", "content": "hello"}]),
    post("/v1/documents", title="t", content="c", document_id="TOKEN"),
    post("/v1/tools/TOKEN", query="x"),
    post("/v1/tools/read_tool_output", tool_output_key="TOKEN"),
    post("/v1/memories", TOKEN="no such field"),
    post("/v1/nowhere/TOKEN"),
]


def test_server_keeps_no_secret_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"EMBEDDER": "off", "RERANKER": "off", "LOG_LEVEL": "debug"}.items():
        monkeypatch.setenv(f"MEMORIST_{name}", value)
    data = tmp_path / "data"
    token = new_token()
    answers: list[str] = []
    with running(data) as (_, address), httpx2.Client(base_url=address, headers=local_key(data), timeout=30) as client:
        for path, send in STORED:
            response = send(client, token)
            assert response.is_success, (path, response.text)
            assert MARKER in response.text or "recall" in path or "/messages" in path or "fact" in path, path
            answers.append(response.text)
        for path, send in REFUSED:
            response = send(client, token)
            assert response.is_client_error, (path, response.text)
            answers.append(response.text)
        answers += _edits_and_reads(client, token)
    log = (tmp_path / "data.log").read_text()
    assert MARKER in log
    assert token not in log
    assert token not in "\n".join(answers)
    stored = bytes_in(data)
    assert MARKER.encode() in stored
    assert token.encode() not in stored


def _edits_and_reads(client: httpx2.Client, token: str) -> list[str]:
    memory = client.get("/v1/memories").json()["data"][0]
    keyed = {"Idempotency-Key": "once"}
    changed = [
        client.patch(f"/v1/memories/{memory['id']}", json={"body": f"changed {token}"}, headers=keyed),
        client.patch(f"/v1/memories/{memory['id']}", json={"body": f"changed {token}"}, headers=keyed),
    ]
    assert [response.status_code for response in changed] == [200, 200]
    others = [
        client.patch(f"/v1/memories/{memory['id']}", json={"body": "again"}, headers={"Idempotency-Key": token}),
        client.get(f"/v1/memories/{token}"),
        client.get("/v1/memories", params={"cursor": token, "q": token}),
        client.get(f"/v1/documents/{token}"),
        client.post("/v1/memories", content=token.encode()),
        client.get("/v1/memories", headers={"Authorization": f"Bearer {token}"}),
        client.get("/v1/memories", headers={"X-Request-Id": token}),
    ]
    assert [response.status_code // 100 for response in others[:6]] == [4] * 6
    # Who chose the request's id gets it back; the log has it redacted.
    return [response.text for response in (*changed, *others)]


def test_commands_keep_no_secret_anywhere(cli: Cli, data: Path, tmp_path: Path) -> None:  # noqa: F811
    token = new_token()
    notes = tmp_path / "notes.md"
    notes.write_text(f"# {token}\n\nThe key is {token}.\n")
    shown: list[str] = []

    def ok(*arguments: str, stdin: bytes = b"") -> str:
        result = cli.ok(*arguments, stdin=stdin)
        shown.extend((result.out, result.err))
        return result.out

    meta = json.dumps({"api_key": token})
    first = json.loads(ok("remember", f"use {token}", "--description", token, "--meta", meta, "--json"))
    assert first["content"] == f"use {MARKER}"
    ok("edit", first["id"], "--content", f"now {token}", "--project", token)
    ok("remember", "-", stdin=f"from stdin {token}".encode())
    ok("ingest", str(notes))
    ok("keys", "create", "--role", "reader", "--label", f"for {token}")
    ok("recall", f"what is {token}")
    ok("list")
    exported = ok("export")
    assert MARKER in exported
    older = exported.replace(MARKER, token)
    assert token in older
    ok("import", "-", "--tenant", "another", stdin=older.encode())
    ok("export", "--tenant", "another")
    assert token not in "\n".join(shown)
    failed = cli("remember", "a text", "--session", token)
    assert failed.code == 2
    assert token not in failed.err + failed.out
    assert token.encode() not in bytes_in(data)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_bench_tells_what_is_caught(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    mine = tmp_path / "mine.json"
    message = {"id": "1", "session": "s", "time": None, "speaker": "Ada", "role": "user", "text": f"use {new_token()}"}
    question = {"id": "q", "text": "what?", "category": "c", "evidence": ["1"]}
    mine.write_text(
        json.dumps({"name": "mine", "cases": [{"id": "c", "messages": [message], "questions": [question]}]})
    )
    found = cli.json("bench", "secrets", str(mine), "--texts", "50", "--each", "1")
    assert found["secrets"] == found["rules"]
    assert found["false_positives_in"]["mine"] == 1.0
    assert "caught" in cli.ok("bench", "secrets", "--texts", "50", "--each", "1").out
    assert cli("bench", "secrets", "--texts", "0").code == 2


def test_off_is_off(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("MEMORIST_REDACT", "off")
    token = new_token()
    assert cli.json("remember", f"use {token}")["content"] == f"use {token}"


def test_help_does_not_pay_for_it() -> None:
    script = (
        "import sys, memorist.bootstrap, memorist.surfaces.cli.runner, memorist.surfaces.cli.writing;"
        "sys.exit('re2' in sys.modules or 'memorist.secrets.rules' in sys.modules)"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMORIST_")}
    assert subprocess.run([os.sys.executable, "-c", script], check=False, env=environment).returncode == 0
