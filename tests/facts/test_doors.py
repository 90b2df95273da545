"""Facts, doubts and jobs over HTTP, on the command line and in the library."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from memorist import Memorist
from memorist.facts.values import Ruling
from memorist.platform.values import JobStatus, Principal, Role
from memorist.settings import Settings
from memorist.testing import new_tenant
from memorist_bench import judge
from tests.cli.conftest import Cli, clean_environment, cli, data  # noqa: F401
from tests.facts.judges import ScriptedJudge
from tests.facts.test_facts import BERLIN, LISBON
from tests.http.conftest import Served, serving


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("facts")
    database = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    with serving(Settings(data=folder, database=database, port=0, embedder="off", reranker="off")) as server:
        yield server


@pytest.fixture
def tenant() -> str:
    return new_tenant()


@pytest.fixture
def ada(served: Served, tenant: str) -> Iterator[httpx2.Client]:
    with served.client(tenant) as client:
        yield client


def tell(client: httpx2.Client, content: str) -> str:
    response = client.post("/v1/tools/remember_fact", json={"content": content})
    assert response.status_code == 200, response.text
    return str(response.json()["id"])


def test_history_and_restore(served: Served, ada: httpx2.Client, tenant: str) -> None:
    old, new = tell(ada, BERLIN), tell(ada, LISBON)
    chain = ada.get(f"/v1/facts/{new}/history").json()["data"]
    assert [(row["content"], row["status"]) for row in chain] == [(BERLIN, "archived"), (LISBON, "active")]
    assert chain[0]["valid_to"] == chain[1]["valid_from"]
    assert chain[0]["superseded_by"] == chain[1]["id"]
    superseded = next(event for event in chain[0]["events"] if event["event_type"] == "superseded")
    assert (superseded["actor"], superseded["payload"]["judge"]) == ("ada", "local")
    recalled = ada.post("/v1/tools/recall", json={"query": "where does the user live"}).json()["items"]
    assert [item["content"] for item in recalled] == [LISBON]
    restored = ada.post(f"/v1/facts/{old}/restore")
    assert (restored.status_code, restored.json()["status"]) == (200, "active")
    assert ada.post(f"/v1/facts/{old}/restore").status_code == 409
    with served.client(tenant, user="bob") as bob:
        assert bob.get(f"/v1/facts/{old}/history").status_code == 404
        assert bob.post(f"/v1/facts/{old}/restore").status_code == 404
    assert ada.get("/v1/facts/nonsense/history").status_code == 422


def test_doubts_are_listed_confirmed_and_dismissed(served: Served, ada: httpx2.Client, tenant: str) -> None:
    tell(ada, "The user lives in Berlin and works at Siemens.")
    tell(ada, LISBON)
    page = ada.get("/v1/facts/in-doubt").json()
    [row] = page["data"]
    assert (page["next_cursor"], page["has_more"]) == (None, False)
    assert (row["fact"]["content"], row["judge"], row["status"]) == (LISBON, "local", "open")
    with served.client(tenant, user="bob") as bob:
        assert bob.get("/v1/facts/in-doubt").json()["data"] == []
        assert bob.post(f"/v1/facts/in-doubt/{row['id']}/confirm").status_code == 404
    with served.client(tenant, role=Role.READER) as reader:
        assert reader.post(f"/v1/facts/in-doubt/{row['id']}/confirm").status_code == 403
    confirmed = ada.post(f"/v1/facts/in-doubt/{row['id']}/confirm")
    assert (confirmed.json()["status"], confirmed.json()["other"]["status"]) == ("confirmed", "archived")
    assert ada.post(f"/v1/facts/in-doubt/{row['id']}/dismiss").status_code == 409
    assert ada.get("/v1/facts/in-doubt").json()["data"] == []
    assert ada.get("/v1/facts/in-doubt?status=nonsense").status_code == 422
    assert ada.get("/v1/facts/in-doubt?cursor=nonsense").status_code == 400


def test_refuted_doubt_retires_the_newer_fact(served: Served, ada: httpx2.Client, tenant: str) -> None:
    tell(ada, "The user lives in Berlin and works at Siemens.")
    tell(ada, LISBON)
    [row] = ada.get("/v1/facts/in-doubt").json()["data"]
    with served.client(tenant, user="bob") as bob:
        assert bob.post(f"/v1/facts/in-doubt/{row['id']}/refute").status_code == 404
    with served.client(tenant, role=Role.READER) as reader:
        assert reader.post(f"/v1/facts/in-doubt/{row['id']}/refute").status_code == 403
    refuted = ada.post(f"/v1/facts/in-doubt/{row['id']}/refute").json()
    assert refuted["status"] == "refuted"
    assert (refuted["fact"]["status"], refuted["other"]["status"]) == ("archived", "active")
    [listed] = ada.get("/v1/facts/in-doubt?status=refuted").json()["data"]
    assert listed["fact"]["superseded_by"] == row["other"]["id"]


def test_dismissed_doubt_keeps_both(ada: httpx2.Client) -> None:
    tell(ada, "The user lives in Berlin and works at Siemens.")
    tell(ada, LISBON)
    [row] = ada.get("/v1/facts/in-doubt").json()["data"]
    assert ada.post(f"/v1/facts/in-doubt/{row['id']}/dismiss").json()["status"] == "dismissed"
    [listed] = ada.get("/v1/facts/in-doubt?status=dismissed").json()["data"]
    assert (listed["fact"]["status"], listed["other"]["status"]) == ("active", "active")


def test_jobs_are_listed_read_retried_and_dropped(served: Served, ada: httpx2.Client, tenant: str) -> None:
    jobs = served.core.jobs
    who = Principal(tenant, Role.USER, "ada")
    ada.get("/v1/jobs")
    job = served.core.store.write(tenant, lambda tx: jobs.add(tx, who, "unheard-of", {"n": 1}))
    jobs.run_due(tenant)
    [row] = ada.get("/v1/jobs?status=dead").json()["data"]
    assert (row["id"], row["kind"], row["payload"], row["user"]) == (job.id, "unheard-of", {"n": 1}, "ada")
    assert "unheard-of" in row["error"]
    assert ada.get(f"/v1/jobs/{job.id}").json() == row
    assert ada.post(f"/v1/jobs/{job.id}/retry").json()["attempts"] == 0
    with served.client(tenant, user="bob") as bob:
        assert bob.get("/v1/jobs").json()["data"] == []
        assert bob.get(f"/v1/jobs/{job.id}").status_code == 404
    with served.client(tenant, role=Role.ADMIN, user=None) as admin:
        assert [one["id"] for one in admin.get("/v1/jobs").json()["data"]] == [job.id]
    assert ada.delete(f"/v1/jobs/{job.id}").status_code == 204
    assert ada.get(f"/v1/jobs/{job.id}").status_code == 404


# The command line


def test_fact_prints_its_id_and_what_it_replaced(cli: Cli) -> None:  # noqa: F811
    old = cli.ok("fact", BERLIN).out.strip()
    result = cli.ok("fact", LISBON)
    assert f"It takes the place of {old}: {BERLIN}" in result.err
    again = cli.json("fact", LISBON)
    assert (again["id"], again["was_new"], again["supersedes"]) == (result.out.strip(), False, [old])
    assert cli.texts() == {LISBON}
    assert cli("fact", "x", "--scope", "agent").code == 2
    assert cli("fact", "   ").code == 2


def test_history_shows_the_chain(cli: Cli) -> None:  # noqa: F811
    for text in (BERLIN, LISBON):
        cli.ok("fact", text)
    newest = cli.json("list")["items"][0]["id"]
    items = cli.json("history", newest)["items"]
    assert [item["content"] for item in items] == [BERLIN, LISBON]
    table = cli.ok("history", items[0]["id"]).out
    assert "now" in table
    assert "and it is another." in " ".join(table.split())


def test_doubts_are_decided_on_the_command_line(cli: Cli) -> None:  # noqa: F811
    assert "Nothing is in doubt." in cli.ok("doubts", "list").err
    for home in ("Berlin", "Oslo", "Rome"):
        cli.ok("fact", f"The user lives in {home} and likes the {home} opera.", "--user", home)
        cli.ok("fact", LISBON, "--user", home)
    [one] = cli.json("doubts", "list", "--user", "Berlin")["items"]
    assert one["fact"]["content"] == LISBON
    assert cli.json("doubts", "confirm", one["id"], "--user", "Berlin")["status"] == "confirmed"
    [other] = cli.json("doubts", "list", "--user", "Oslo")["items"]
    assert cli.ok("doubts", "dismiss", other["id"], "--user", "Oslo").out.strip() == other["id"]
    assert cli.json("doubts", "list", "--user", "Oslo")["items"] == []
    [last] = cli.json("doubts", "list", "--user", "Rome")["items"]
    assert "The newer fact is retired." in cli.ok("doubts", "refute", last["id"], "--user", "Rome").err
    assert cli.texts("--user", "Rome") == {"The user lives in Rome and likes the Rome opera."}
    assert len(cli.json("doubts", "list", "--user", "Oslo", "--status", "dismissed")["items"]) == 1


def test_jobs_are_looked_after_on_the_command_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    assert "There are no jobs." in cli.ok("jobs", "list").err
    monkeypatch.setenv("MEMORIST_JUDGE_MODEL", "openai:none")
    monkeypatch.setenv("MEMORIST_LLM_URL", "http://127.0.0.1:9/v1")
    cli.ok("fact", BERLIN)
    cli.ok("fact", LISBON)
    cli.ok("jobs", "run")
    failed = [item for item in cli.json("jobs", "list")["items"] if item["error"]]
    assert [item["status"] for item in failed] == ["waiting"]
    job_id = failed[0]["id"]
    listed = cli.ok("jobs", "list").out
    assert "openai:none" in listed
    assert re.search(rf"{job_id} +judge +waiting +1 +\d{{4}}-\d\d-\d\d \d\d:\d\d +\S", listed)
    assert "user" not in listed.splitlines()[0]
    assert "user" in cli.ok("jobs", "list", "--all-users").out.splitlines()[0]
    assert cli.json("jobs", "show", job_id)["payload"]["memory_id"].startswith("mem_")
    assert job_id in cli.ok("jobs", "show", job_id).out
    monkeypatch.setenv("MEMORIST_JUDGE_MODEL", "local")
    assert cli.ok("jobs", "retry", job_id).out.strip() == job_id
    cli.ok("jobs", "run")
    assert cli.texts() == {LISBON}
    done = cli.json("jobs", "list", "--status", "done", "--all-users")["items"]
    assert job_id in [item["id"] for item in done]
    assert cli.json("jobs", "drop", job_id)["id"] == job_id
    assert cli("jobs", "show", job_id).code == 3


def test_bench_judge_prints_each_half_and_the_misses(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    some = judge.labelled_pairs()[::4]  # All of them are judged in test_judging.py.
    monkeypatch.setattr(judge, "labelled_pairs", lambda: some)
    result = cli.json("bench", "judge")
    assert set(result["halves"]) == {"tune", "held", "both"}
    assert result["misses"]
    table = cli.ok("bench", "judge").out
    assert all(one["old"].split()[-1].rstrip(".") in table for one in result["misses"])


# The library


def test_library_has_the_same_verbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EMBEDDER", "RERANKER"):
        monkeypatch.setenv(f"MEMORIST_{name}", "off")
    with Memorist.open(tmp_path) as opened:
        me = opened.user("ada")
        old, new = (me.remember_fact(text).memory for text in (BERLIN, LISBON))
        assert [version.memory.id for version in me.history(new.id)] == [old.id, new.id]
        assert me.restore_fact(old.id).superseded_by is None
        assert me.jobs(status=JobStatus.DEAD).items == ()
        opened._core.__dict__["judge"] = ScriptedJudge(lambda *_: Ruling.UNSURE)
        me.remember_fact("The user lives in Turin.")
        first, second, *_ = me.in_doubt().items
        assert me.confirm_doubt(first.doubt.id).other.superseded_by == first.fact.id
        assert me.dismiss_doubt(second.doubt.id).doubt.status == "dismissed"
        me.remember_fact("The user lives in Rome.")
        third, *_ = me.in_doubt().items
        assert me.refute_doubt(third.doubt.id).fact.superseded_by == third.other.id
