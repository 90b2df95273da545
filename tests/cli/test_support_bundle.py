"""`memorist support-bundle`: it helps, and it names nobody."""

import json
import re
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.routing import Route

from memorist.bootstrap import open_core
from memorist.ingestion.service import Message
from memorist.memories.values import Draft
from memorist.platform.values import Job, JobStatus, Principal, Role
from memorist.settings import Settings
from memorist.surfaces.cli.support_bundle import route_of
from memorist.surfaces.http.app import create_api
from memorist.times import SystemClock
from tests.cli.conftest import Cli
from tests.support.stores import bare

# Each is in a place of its own, and none may be in the bundle.
PLACES = re.findall(
    r"\w+", "content name user agent session project tenant label meta document job title host key path variable log"
)
MARKS = {place: f"zq{place}marker" for place in PLACES}


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A database whose every place holds a mark, and settings that do."""
    data = tmp_path / MARKS["path"]
    database = str(data / "memorist.db") if request.param == "sqlite" else request.getfixturevalue("own_postgres_url")
    variables = {
        "DATA": str(data), "DATABASE": database, "TENANT": MARKS["tenant"], "USER": MARKS["user"],
        "AGENT": MARKS["agent"], "ALLOWED_HOSTS": f"{MARKS['host']}.example.org",
        "LLM_URL": f"http://{MARKS['host']}:9/v1", "LLM_API_KEY": MARKS["key"],
        "TRANSCRIPT_ROOTS": f"/{MARKS['path']}", "NOSUCH": MARKS["variable"],
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(f"MEMORIST_{name}", value)
    settings = bare(database, data=data)
    fill(settings)
    return settings


def fill(settings: Settings) -> None:
    core = open_core(settings, background=False)
    tenant, user, agent = MARKS["tenant"], MARKS["user"], MARKS["agent"]
    core.identity.create_tenant(tenant)
    ada = Principal(tenant, Role.USER, user, agent, MARKS["session"])
    named = {"name": MARKS["name"], "description": MARKS["title"], "category": "project", "project": MARKS["project"]}
    core.memories.remember(ada, [Draft(MARKS["content"], meta={"note": MARKS["meta"]}, **named)])
    core.ingestion.add_messages(ada, MARKS["session"], [Message("user", MARKS["content"])])
    core.ingestion.add_document(ada, title=MARKS["title"], content=MARKS["document"])
    core.identity.create_key(Principal(tenant, Role.ADMIN), Role.USER, user=user, label=MARKS["label"])
    now = SystemClock().now()
    job = Job("job_01M7JCTXGCA3CTHPM53EATX8JX", "judge", ada, {"x": MARKS["job"]}, now, now, now)
    core.store.write(tenant, lambda tx: tx.jobs.insert(job))
    failed = replace(job, id="job_01M7JCTXGCA3CTHPM53EATX8JY", status=JobStatus.DEAD, error=MARKS["job"])
    core.store.write(tenant, lambda tx: tx.jobs.insert(failed))
    core.close()


def opened(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        found = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        return {name.removeprefix("memorist-support/"): file.read() for name, file in found.items() if file is not None}


@pytest.mark.usefixtures("settings")
def test_bundle_holds_what_helps_and_names_nobody(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    lines = [
        {"time": "2026-11-16T00:00:00Z", "level": "error", "logger": "memorist.http", "message": MARKS["log"],
         "path": f"/v1/admin/users/{MARKS['user']}", "status": 500, "ids": {"user": MARKS["user"]},
         "exception": f'File "/home/x/{MARKS["path"]}/src/memorist/core.py", line 7\nValueError: {MARKS["content"]}'},
        {"time": "2026-11-16T00:00:01Z", "level": "info", "path": "/v1/memories/{memory_id}", "status": 200, "ms": 1.5},
    ]  # fmt: skip
    log.write_text("\n".join(map(json.dumps, lines)) + f"\nnot JSON {MARKS['log']}\n", "utf-8")
    path = tmp_path / "bundle.tar.gz"
    done = cli.ok("support-bundle", str(path), "--log", str(log))
    assert "Read it before you send it." in done.err
    assert path.stat().st_mode & 0o077 == 0
    files = opened(path)
    assert set(files) == {"README.txt", "about.json", "settings.json", "doctor.json", "store.json", "log.jsonl"}
    for name, content in files.items():
        found = [mark for mark in MARKS.values() if mark in content.decode().lower()]
        assert found == [], (name, content)
        assert str(tmp_path) not in content.decode(), name
    store = json.loads(files["store.json"])
    assert store["rows"]["memories"] >= 3
    assert store["jobs"]["dead"] == 1
    assert store["applied"][0]["version"] == 1
    shown = json.loads(files["settings.json"])["settings"]
    assert shown["llm_api_key"] == {"value": "(set)", "from": "environment"}
    assert shown["embedder"]["value"] == "off"
    assert {one["check"] for one in json.loads(files["doctor.json"])} >= {"python", "schema", "jobs", "tenant <tenant>"}
    first, second = map(json.loads, files["log.jsonl"].decode().splitlines())
    assert (first["path"], first["status"]) == ("/v1/admin/users/…", 500)
    assert first["raised_in"] == ["memorist/core.py:7"]
    assert second["path"] == "/v1/memories/{memory_id}"


def test_bundle_is_made_where_nothing_works(cli: Cli, data: Path, tmp_path: Path) -> None:
    data.mkdir(mode=0o700)
    (data / "memorist.db").write_bytes(b"no database at all" * 100)
    path = tmp_path / "bundle.tar.gz"
    cli.ok("support-bundle", str(path))
    assert json.loads(opened(path)["store.json"]) == {"error": "store_corrupt"}
    assert "problem" in opened(path)["doctor.json"].decode()
    # Nor is the home of whoever made it in it.
    assert [name for name, content in opened(path).items() if str(tmp_path) in content.decode()] == []


def test_file_is_replaced_only_by_force(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    path.write_text("mine")
    assert cli("support-bundle", str(path)).code == 5
    assert path.read_text() == "mine"
    cli.ok("support-bundle", str(path), "--force")
    assert cli("support-bundle", str(tmp_path / "none" / "x")).code == 2
    assert cli("support-bundle", str(tmp_path / "y"), "--log", str(tmp_path / "none")).code == 2


def test_routes_of_the_server_are_shown_as_they_are() -> None:
    paths = [route.path_format for route in create_api(cast(Any, None)).routes if isinstance(route, Route)]
    assert len(paths) > 50
    assert [route_of(path) for path in paths] == paths
