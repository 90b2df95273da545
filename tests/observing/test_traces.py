"""Traces: one for a request, from the door to the models, in the caller's trace, and without a word that was said."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from memorist.observing.tracing import FewASecond, open_tracing
from memorist.platform.values import Principal, Role
from memorist.surfaces.http.logs import JsonFormatter, TextFormatter
from memorist.testing import new_tenant
from memorist.watching import TRACE, Watch, carried, trace_headers
from tests.http.conftest import Served, new_memory, serving
from tests.observing.collector import Collector, Received
from tests.support.scripted_http import ScriptedServer
from tests.support.stores import bare
from tests.support.waiting import SOON, eventually

SERVER, CLIENT = 2, 3
CALLERS_SPAN = "00f067aa0ba902b7"
MARKER = "zqmarker"


def callers_trace(number: int) -> tuple[str, dict[str, str]]:
    trace_id = f"{number:032x}"
    return trace_id, {"traceparent": f"00-{trace_id}-{CALLERS_SPAN}-01"}


@pytest.fixture
def ada(watched: Served) -> Iterator[httpx2.Client]:
    with watched.client(new_tenant()) as client:
        yield client


@pytest.fixture(autouse=True)
def every_span(monkeypatch: pytest.MonkeyPatch) -> None:
    """However short it was."""
    monkeypatch.setattr("memorist.observing.tracing._SHORTEST_NS", 0)


def sent(server: Served) -> None:
    """Have what is finished sent now."""
    server.core.watch._tracing._provider.force_flush()  # type: ignore[attr-defined]


def test_recall_is_one_trace_from_the_door_to_the_models(
    watched: Served, ada: httpx2.Client, collector: Collector, models: ScriptedServer
) -> None:
    ada.post("/v1/memories", json=new_memory())
    models.requests.clear()
    trace_id, headers = callers_trace(0xA1)
    assert ada.post("/v1/tools/recall", json={"query": "the body"}, headers=headers).status_code == 200
    sent(watched)
    spans = collector.wait_for(trace_id, "POST /v1/tools/{name}")
    root = spans["POST /v1/tools/{name}"]
    assert (root.parent_id, root.kind, root.facts["http.response.status_code"]) == (CALLERS_SPAN, SERVER, 200)
    assert root.resource["service.name"] == "memorist"
    assert spans["recall"].parent_id == root.span_id
    for stage in ("look", "embed", "words", "score", "read", "rerank", "answer"):
        assert spans[f"recall {stage}"].parent_id == spans["recall"].span_id, stage
    embedding = spans["embeddings vectors"]
    assert (embedding.parent_id, embedding.kind) == (spans["recall embed"].span_id, CLIENT)
    assert embedding.facts["gen_ai.operation.name"] == "embeddings"
    assert embedding.facts["gen_ai.request.model"] == "vectors"
    reading = spans["store read"]
    assert reading.facts["db.system.name"] == ("sqlite" if watched.core.store.instant_reads else "postgresql")
    # The models are told which trace they work for.
    told = {one.path.rpartition("/")[2]: one.headers["traceparent"] for one in models.requests if trace_id in str(one)}
    assert told["embeddings"] == f"00-{trace_id}-{embedding.span_id}-01"
    assert told["rerank"] == f"00-{trace_id}-{spans['reranker order'].span_id}-01"


def test_remembering_is_a_trace_with_its_transaction(watched: Served, ada: httpx2.Client, collector: Collector) -> None:
    trace_id, headers = callers_trace(0xA2)
    ada.post("/v1/memories", json=new_memory(), headers=headers)
    sent(watched)
    spans = collector.wait_for(trace_id, "POST /v1/memories")
    assert spans["remember"].facts["memorist.memories"] == 1
    assert spans["store write"].trace_id == trace_id


def test_turn_goes_on_in_the_trace_of_its_request(
    watched: Served, ada: httpx2.Client, collector: Collector, models: ScriptedServer
) -> None:
    trace_id, headers = callers_trace(0xA3)
    models.requests.clear()
    body = {"messages": [{"role": "user", "content": "Hello."}]}
    assert ada.post("/v1/turns", json=body, headers=headers).status_code == 201
    eventually(lambda: sent(watched) or "turn" in collector.of(trace_id))
    spans = collector.wait_for(trace_id, "turn")
    chat = spans["chat gpt-4o"]
    assert (chat.parent_id, chat.kind) == (spans["turn"].span_id, CLIENT)
    assert chat.facts == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.response.finish_reasons": ["done"],
        "memorist.model.is_local": False,
    }
    asked = next(one for one in models.requests if "completions" in one.path)
    assert asked.headers["traceparent"] == f"00-{trace_id}-{chat.span_id}-01"


def test_failure_is_told_by_its_kind_alone(watched: Served, ada: httpx2.Client, collector: Collector) -> None:
    trace_id, headers = callers_trace(0xA4)
    body = {"messages": [{"role": "user", "content": "FAIL"}]}
    ada.post("/v1/turns", json=body, headers=headers)
    eventually(lambda: sent(watched) or "turn" in collector.of(trace_id))
    chat = collector.of(trace_id)["chat gpt-4o"]
    assert chat.is_failed
    assert chat.facts["error.type"] == "LlmError"


def test_no_span_holds_who_or_what_after_hostile_traffic(watched: Served, collector: Collector) -> None:
    collector.bodies.clear()
    trace_id, headers = callers_trace(0xA5)
    headers |= {"tracestate": f"{MARKER}=1", "baggage": f"user={MARKER}", "X-Memorist-User": f"{MARKER}-bob"}
    with watched.client(f"{MARKER}-{new_tenant()}", Role.SERVICE, None) as client:
        client.post("/v1/memories", json=new_memory(name=MARKER), headers=headers)
        client.get(f"/v1/memories/{MARKER}", headers=headers)
        client.get(f"/{MARKER}", headers=headers)
        client.post("/v1/tools/recall", json={"query": MARKER}, headers=headers)
        body = {"messages": [{"role": "user", "content": MARKER}], "context": {"session_id": MARKER}}
        assert client.post("/v1/turns", json=body, headers=headers).status_code == 201
    eventually(lambda: sent(watched) or "turn" in collector.of(trace_id))
    assert not any(MARKER.encode() in body for body in collector.bodies)


def test_jobs_and_sweeps_begin_traces_of_their_own(watched: Served, collector: Collector) -> None:
    tenant = new_tenant()
    core, who = watched.core, Principal(tenant, Role.ADMIN, "ada")
    core.identity.create_tenant(tenant)
    core.store.write(tenant, lambda tx: core.jobs.add(tx, who, "nobody-knows-it", {}))
    core.jobs.run_due(tenant)
    core.sweeper.sweep(tenant)
    sent(watched)
    roots = [one for one in collector.spans if one.name in ("job other", "sweep")]
    assert {one.parent_id for one in roots} == {""}
    # What nobody asked for and no trace has begun is told to nobody.
    assert all(one.parent_id for one in collector.spans if one.name.startswith("store"))


def test_caller_that_is_not_sampled_is_not_sent_but_passed_on(
    watched: Served, ada: httpx2.Client, collector: Collector, models: ScriptedServer
) -> None:
    models.requests.clear()
    trace_id = f"{0xA6:032x}"
    ada.post("/v1/tools/recall", json={"query": "x"}, headers={"traceparent": f"00-{trace_id}-{CALLERS_SPAN}-00"})
    sent(watched)
    assert collector.of(trace_id) == {}
    passed_on = [header for one in models.requests if trace_id in (header := one.headers.get("traceparent", ""))]
    assert passed_on
    assert all(header.endswith("-00") for header in passed_on)


@pytest.mark.parametrize("header", ["", "00-0-0-01", f"00-{'0' * 32}-{CALLERS_SPAN}-01", "ff-" + "1" * 32, "x" * 5000])
def test_header_that_is_none_begins_a_new_trace(
    watched: Served, ada: httpx2.Client, collector: Collector, header: str
) -> None:
    before = len(collector.spans)
    ada.get("/v1/memories", headers={"traceparent": header})
    found: list[Received] = []

    def is_there() -> bool:
        sent(watched)  # Those of earlier requests may come later than this test begins.
        found[:] = [one for one in collector.spans[before:] if one.name == "GET /v1/memories"]
        return bool(found)

    eventually(is_there)
    assert found[0].parent_id == ""
    assert int(found[0].trace_id, 16)


def test_log_lines_carry_the_trace(ada: httpx2.Client) -> None:
    streams = {kind: io.StringIO() for kind in (JsonFormatter, TextFormatter)}
    handlers = [logging.StreamHandler(stream) for stream in streams.values()]
    logger = logging.getLogger("memorist.http")
    level = logger.level
    logger.setLevel("INFO")
    for kind, handler in zip(streams, handlers, strict=True):
        handler.setFormatter(kind())
        logger.addHandler(handler)
    trace_id, headers = callers_trace(0xA7)
    try:
        ada.post("/v1/memories", json=new_memory(), headers=headers)
        eventually(lambda: all(trace_id in stream.getvalue() for stream in streams.values()))
    finally:
        logger.setLevel(level)
        for handler in handlers:
            logger.removeHandler(handler)
    line = json.loads(streams[JsonFormatter].getvalue().splitlines()[0])
    assert line["trace_id"] == trace_id
    assert line["span_id"] != CALLERS_SPAN
    assert f"trace_id={trace_id}" in streams[TextFormatter].getvalue()


def test_short_parts_are_left_to_the_whole(
    watched: Served, ada: httpx2.Client, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.observing.tracing._SHORTEST_NS", 10**12)
    trace_id, headers = callers_trace(0xA8)
    ada.post("/v1/tools/recall", json={"query": "x"}, headers=headers)
    sent(watched)
    # What other servers are asked is told, however short: they have spans below it.
    names = set(collector.wait_for(trace_id, "POST /v1/tools/{name}"))
    assert names <= {"POST /v1/tools/{name}", "embeddings vectors", "reranker order"}


def test_collector_that_is_away_fails_no_request(tmp_path: Path) -> None:
    settings = bare(str(tmp_path / "own.db"), data=tmp_path, port=0, otlp_url="http://127.0.0.1:9")
    with serving(settings) as server, server.client(new_tenant()) as client:
        assert client.post("/v1/memories", json=new_memory()).status_code == 201


def test_nothing_is_known_of_traces_where_they_are_off() -> None:
    assert isinstance(Watch().timed("recall").__enter__(), object)
    assert TRACE.get() is None
    assert trace_headers() == {}
    assert carried(trace_headers) is trace_headers


@pytest.mark.parametrize("workers", ["1", "2"])
def test_missing_extra_says_what_to_install(tmp_path: Path, workers: str) -> None:
    script = (
        "import sys; sys.modules['opentelemetry.sdk'] = None\n"
        "from memorist.surfaces.cli.runner import run\n"
        f"sys.exit(run(['serve', '--data', {str(tmp_path)!r}, '--port', '0', '--workers', {workers!r}]))"
    )
    environment = {"MEMORIST_OTLP_URL": "http://127.0.0.1:4318", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=SOON, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "memorist[otel]" in done.stderr
    assert "Traceback" not in done.stderr


def test_address_may_name_the_path_or_not() -> None:
    for url in ("http://127.0.0.1:9", "http://127.0.0.1:9/", "http://127.0.0.1:9/v1/traces"):
        tracing = open_tracing(url)
        assert tracing._processor.span_exporter._endpoint == "http://127.0.0.1:9/v1/traces"  # type: ignore[attr-defined]
        tracing.close()


def test_so_many_traces_begin_in_a_second_and_no_more() -> None:
    now = 7.1
    few = FewASecond(3, lambda: now)
    assert [few.take() for _ in range(5)] == [True] * 3 + [False] * 2
    now = 8.0
    assert few.take()


@pytest.mark.parametrize(("sampler", "sent"), [("always_off", False), ("always_on", True)])
def test_sampler_that_is_named_decides(monkeypatch: pytest.MonkeyPatch, sampler: str, sent: bool) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    tracing = open_tracing("http://127.0.0.1:9")
    span = tracing.enter("")
    span.leave()
    assert span.trace.is_sampled is sent
    tracing.close()
