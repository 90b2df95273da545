"""`GET /metrics`: what is counted, who may read it, and that nobody is named."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from memorist import __version__
from memorist.errors import MemoristError
from memorist.observing.families import ALL, SHOWN
from memorist.observing.metrics import Metrics
from memorist.platform.values import JobStatus, Principal, Role
from memorist.settings import Settings
from memorist.testing import new_tenant
from tests.http.conftest import Served, new_memory, serving
from tests.observing.conftest import watched_settings
from tests.support.scripted_http import ScriptedServer
from tests.support.stores import bare
from tests.support.talking import fails
from tests.support.waiting import eventually

MARKER = "zqmarker"


def samples(url: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = httpx2.get(f"{url}/metrics").text
    found = [one for family in text_string_to_metric_families(text) for one in family.samples]
    return {(one.name, frozenset(one.labels.items())): one.value for one in found}


def value(url: str, name: str, **labels: str) -> float:
    return samples(url).get((name, frozenset(labels.items())), 0.0)


@pytest.fixture
def tenant() -> str:
    return new_tenant()


@pytest.fixture
def ada(watched: Served, tenant: str) -> Iterator[httpx2.Client]:
    with watched.client(tenant) as client:
        yield client


def finished_turn(client: httpx2.Client, said: str, **more: object) -> None:
    body = {"messages": [{"role": "user", "content": said}], **more}
    assert client.post("/v1/turns", json=body).status_code == 201


def test_requests_are_counted_by_the_template_of_their_route(watched: Served, ada: httpx2.Client) -> None:
    made = {"route": "/v1/memories", "method": "POST"}
    before = value(watched.url, "memorist_http_requests_total", **made, status="201")
    memory = ada.post("/v1/memories", json=new_memory()).json()
    ada.get(f"/v1/memories/{memory['id']}")
    eventually(lambda: value(watched.url, "memorist_http_requests_total", **made, status="201") == before + 1)
    found = samples(watched.url)
    one = frozenset({"route": "/v1/memories/{memory_id}", "method": "GET"}.items())
    assert found["memorist_http_request_seconds_count", one] >= 1
    assert found["memorist_http_requests_in_progress", frozenset()] == 1  # The one that asks.


def test_recall_is_timed_by_its_stages_and_models(watched: Served, ada: httpx2.Client) -> None:
    ada.post("/v1/memories", json=new_memory())
    assert ada.post("/v1/tools/recall", json={"query": "the body"}).json()["items"]
    found = samples(watched.url)
    for stage in ("look", "embed", "words", "score", "read", "rerank", "answer"):
        assert found["memorist_recall_stage_seconds_count", frozenset({("stage", stage)})] >= 1, stage
    for part in ("embedder", "reranker"):
        assert found["memorist_model_seconds_count", frozenset({("part", part)})] >= 1
        assert found["memorist_model_batch_size_count", frozenset({("part", part)})] >= 1
    assert found["memorist_recall_seconds_count", frozenset()] >= 1
    assert found["memorist_remember_seconds_count", frozenset()] >= 1
    for kind in ("read", "write"):
        assert found["memorist_transaction_seconds_count", frozenset({("kind", kind)})] >= 1


def test_turns_are_counted_with_what_they_cost(watched: Served, ada: httpx2.Client) -> None:
    before = samples(watched.url)

    def more(name: str, **labels: str) -> float:
        key = (name, frozenset(labels.items()))
        return samples(watched.url).get(key, 0.0) - before.get(key, 0.0)

    finished_turn(ada, "Hello.")
    eventually(lambda: more("memorist_turns_total", status="completed") == 1)
    assert more("memorist_turn_seconds_count") == 1
    for name in ("memorist_turn_tokens_total", "memorist_llm_tokens_total"):
        assert more(name, direction="input") == 100
        assert more(name, direction="output") == 10
    assert more("memorist_turn_cost_usd_total") == pytest.approx((100 * 2.5 + 10 * 10) / 1e6)
    assert more("memorist_llm_cost_usd_total") == pytest.approx((100 * 2.5 + 10 * 10) / 1e6)
    assert more("memorist_model_seconds_count", part="llm") == 1
    finished_turn(ada, "FAIL")
    eventually(lambda: more("memorist_turns_total", status="failed") == 1)
    assert more("memorist_model_failures_total", part="llm") == 1


def test_jobs_sweeps_and_sizes_are_shown(watched: Served, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    core, who = watched.core, Principal(tenant, Role.ADMIN, "ada")
    core.identity.create_tenant(tenant)
    kept = core.store.write(tenant, lambda tx: core.jobs.add(tx, who, "nobody-knows-it", {}))
    core.jobs.run_due(tenant)
    core.sweeper.sweep(tenant)
    monkeypatch.setattr(core.census, "_count_after", 0.0)
    found = samples(watched.url)
    assert core.jobs.get(who, kept.id).status is JobStatus.DEAD
    assert found["memorist_jobs", frozenset({("state", "dead")})] >= 1
    assert found["memorist_job_attempts_total", frozenset({("outcome", "dead")})] >= 1
    assert found["memorist_job_seconds_count", frozenset({("kind", "other")})] >= 1
    assert found["memorist_sweep_seconds_count", frozenset()] >= 1
    assert found["memorist_database_bytes", frozenset()] > 10_000
    assert found["memorist_tenants", frozenset()] >= 1
    queue = "memorist_group_commits_total" if core.store.instant_reads else "memorist_pool_requests_total"
    assert found[queue, frozenset()] >= 1


def test_every_metric_comes_out_as_it_is_declared() -> None:
    metrics = Metrics()
    text, media_type = metrics.text(lambda: {what: {"x" if one.label else "": 1.0} for what, one in SHOWN.items()})
    told = {one.name: one for one in text_string_to_metric_families(text.decode())}
    assert media_type.startswith("text/plain")
    for family in ALL:
        found = told[family.name.removesuffix("_total")]
        assert (found.type, found.documentation) == (family.form, family.help)
    assert [name for name in told if not name.startswith(("memorist_", "process_"))] == []


def test_no_label_names_anybody_after_hostile_traffic(watched: Served) -> None:
    tenant = f"{MARKER}-{new_tenant()}"
    headers = {
        "X-Memorist-User": f"{MARKER}-bob",
        "X-Memorist-Agent": f"{MARKER}-agent",
        "X-Memorist-Session": f"{MARKER}-session",
        "X-Request-Id": f"{MARKER}-request",
        "traceparent": f"00-{MARKER}-{MARKER}-01",
        "tracestate": f"{MARKER}=1",
        "User-Agent": MARKER,
    }
    with watched.client(tenant, Role.SERVICE, None) as client:
        made = client.post("/v1/memories", json=new_memory(name=MARKER), headers=headers)
        assert made.status_code == 201, made.text
        client.get(f"/v1/memories/{MARKER}", headers=headers)
        client.get(f"/{MARKER}/{MARKER}", headers=headers)
        client.get(f"/v1/memories?cursor={MARKER}", headers=headers)
        client.request("PROPFIND", "/v1/memories", headers=headers)
        httpx2.request(MARKER.upper(), f"{watched.url}/v1/memories", headers=headers)
        client.post(f"/v1/tools/{MARKER}", json={}, headers=headers)
        client.post("/v1/tools/recall", json={"query": MARKER}, headers=headers)
        client.post(f"/v1/sessions/{MARKER}/messages", json={"messages": [{"role": "user", "content": MARKER}]})
        client.get(f"/dashboard/{MARKER}")
        client.delete(f"/v1/admin/users/{MARKER}", headers=headers)
        said = {"messages": [{"role": "user", "content": MARKER}], "context": {"session_id": MARKER}}
        assert client.post("/v1/turns", json=said, headers=headers).status_code == 201
        httpx2.get(f"{watched.url}/v1/memories", headers={"Authorization": f"Bearer {MARKER}"})
    text = httpx2.get(f"{watched.url}/metrics").text
    assert 'method="other"' in text
    assert 'route="(no route)"' in text
    assert MARKER not in text.lower()
    assert made.json()["id"] not in text
    assert "mem_" not in text
    assert "key_" not in text


# Who may read it


def test_this_machine_reads_it_without_a_key_and_others_need_an_admins(watched: Served, tenant: str) -> None:
    assert httpx2.get(f"{watched.url}/metrics").status_code == 200
    forwarded = {"X-Forwarded-For": "203.0.113.7"}
    assert httpx2.get(f"{watched.url}/metrics", headers=forwarded).status_code == 401
    with watched.client(tenant) as user, watched.client(tenant, Role.ADMIN) as admin:
        assert user.get("/metrics", headers=forwarded).status_code == 403
        assert admin.get("/metrics", headers=forwarded).status_code == 200


@pytest.mark.parametrize("name", ["Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Proto"])
def test_what_a_proxy_passes_on_is_not_this_machines(watched: Served, name: str) -> None:
    assert httpx2.get(f"{watched.url}/metrics", headers={name: "for=127.0.0.1"}).status_code == 401


def test_page_under_another_name_reads_nothing(watched: Served) -> None:
    assert httpx2.get(f"{watched.url}/metrics", headers={"Host": "evil.example.org"}).status_code == 403


@pytest.mark.parametrize(("setting", "status"), [("key", 401), ("open", 200), ("local", 200)])
def test_setting_says_who_reads_it(tmp_path: Path, setting: str, status: int) -> None:
    with serving(bare(str(tmp_path / "own.db"), data=tmp_path, port=0, metrics=setting)) as server:
        assert httpx2.get(f"{server.url}/metrics").status_code == status
        forwarded = httpx2.get(f"{server.url}/metrics", headers={"X-Forwarded-For": "203.0.113.7"})
        assert forwarded.status_code == (200 if setting == "open" else 401)
        # As in a cluster, where it is found by a name.
        named = httpx2.get(f"{server.url}/metrics", headers={"Host": "memorist.default.svc:8377"})
        assert named.status_code == {"key": 401, "open": 200, "local": 403}[setting]


def test_nothing_is_counted_where_it_is_off(tmp_path: Path) -> None:
    with serving(bare(str(tmp_path / "own.db"), data=tmp_path, port=0, metrics="off")) as server:
        with server.client(new_tenant(), Role.ADMIN) as admin:
            answer = admin.get("/metrics")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert httpx2.get(f"{server.url}/metrics").status_code == 401


def test_servers_count_for_themselves(tmp_path: Path, watched: Served) -> None:
    httpx2.get(f"{watched.url}/healthz")
    with serving(bare(str(tmp_path / "own.db"), data=tmp_path, port=0)) as other:
        asked = {"route": "/healthz", "method": "GET", "status": "200"}
        assert value(watched.url, "memorist_http_requests_total", **asked) >= 1
        assert value(other.url, "memorist_http_requests_total", **asked) == 0


def test_database_that_does_not_answer_leaves_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise MemoristError

    with serving(bare(str(tmp_path / "own.db"), data=tmp_path, port=0)) as server:
        monkeypatch.setattr(server.core.store, "count_all", refuse)
        found = samples(server.url)
    assert ("memorist_build_info", frozenset({("version", __version__)})) in found
    assert ("memorist_tenants", frozenset()) not in found


def test_lag_of_the_index_is_shown_while_the_embedder_is_away(tmp_path: Path, models: ScriptedServer) -> None:
    settings: Settings = watched_settings(tmp_path, models)
    models.scripts += [fails(400)] * 2
    with serving(settings) as server, server.client(new_tenant()) as client:
        client.post("/v1/memories", json=new_memory())
        eventually(lambda: value(server.url, "memorist_model_failures_total", part="embedder") >= 1)
        eventually(lambda: value(server.url, "memorist_model_seconds_count", part="embedder") >= 2)
        models.scripts.clear()
        server.core.indexer.start()
        eventually(lambda: server.core.indexer.lag == 0.0)
        assert value(server.url, "memorist_index_lag_seconds") == 0.0
