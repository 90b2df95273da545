"""`memorist top`: what two looks at /metrics tell, and the view of a server that runs."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from memorist.observing.metrics import Metrics
from memorist.observing.reading import Between, Look, view
from memorist.surfaces.cli.runner import run
from memorist.testing import new_tenant
from tests.http.conftest import Served, new_memory

BOUNDS = ("0.01", "0.1", "+Inf")


def look(at: float, *counts: int) -> Look:
    name = "memorist_recall_seconds"
    lines = [f'{name}_bucket{{le="{le}"}} {count}' for le, count in zip(BOUNDS, counts, strict=True)]
    return Look.of("\n".join([f"# TYPE {name} histogram", *lines, f"{name}_count {counts[-1]}", ""]), at)


def test_percentiles_are_of_the_time_between_two_looks() -> None:
    between = Between(look(0, 100, 100, 100), look(10, 150, 200, 200))
    assert between.timed("memorist_recall_seconds") == {
        "per_second": 10.0,
        "p50_ms": 10.0,
        "p95_ms": 91.0,
        "p99_ms": 98.2,
    }
    slow = Between(look(0, 0, 0, 0), look(1, 0, 0, 5))
    assert slow.timed("memorist_recall_seconds")["p50_ms"] == 100.0  # No longer than the last bound, as far as known.
    assert Between(look(0, 1, 1, 1), look(1, 1, 1, 1)).timed("memorist_recall_seconds")["p50_ms"] is None


def test_look_reads_what_prometheus_reads() -> None:
    metrics = Metrics()
    metrics.request('/odd/"quoted"\\and\nbroken,\u2028le="1"}', "GET", 200, 0.02)
    metrics.request("/v1/memories", "POST", 503, 20)
    text = metrics.text(lambda: {"info": {"0.1 {x}": 1.0}})[0].decode()
    wanted: dict[str, dict[frozenset[tuple[str, str]], float]] = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            wanted.setdefault(one.name, {})[frozenset(one.labels.items())] = one.value
    assert Look.of(text, 0).values == wanted
    few = {name: found for name, found in wanted.items() if name.startswith("memorist_http")}
    assert Look.of(text, 0, "memorist_http").values == few
    for nonsense in ("<html>", "name", 'name{a="b"} x', "name 1 2 3"):
        with pytest.raises(ValueError, match=r"Prometheus|float"):
            Look.of(nonsense, 0)


def test_server_that_began_anew_has_no_negative_rates() -> None:
    assert Between(look(0, 9, 9, 9), look(1, 2, 2, 2)).rate("memorist_recall_seconds_count") == 2.0


def test_look_at_nothing_shows_nothing() -> None:
    shown = view(Between(Look(0, {}), Look(1, {})))
    assert shown["requests"] == {"per_second": 0.0, "in_progress": 0, "routes": []}
    assert shown["recall"]["p95_ms"] is None


def top(*arguments: str) -> int:
    return run(["top", *arguments])


def test_view_of_a_running_server(watched: Served, capsys: pytest.CaptureFixture[str]) -> None:
    with watched.client(new_tenant()) as client:
        client.post("/v1/memories", json=new_memory())
        client.post("/v1/tools/recall", json={"query": "the body"})
    assert top("--url", watched.url, "--once", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["url"] == watched.url
    assert shown["version"]
    assert {"method": "POST", "route": "/v1/tools/{name}"}.items() <= next(
        one for one in shown["requests"]["routes"] if one["route"] == "/v1/tools/{name}"
    ).items()
    assert shown["recall"]["p95_ms"] > 0
    assert set(shown["recall"]["stages"]) >= {"embed", "words", "rerank"}
    assert set(shown["models"]) >= {"embedder", "reranker"}
    assert shown["store"]["bytes"] > 0
    assert top("--url", watched.url, "--once") == 0
    drawn = capsys.readouterr().out
    assert "/v1/tools/{name}" in drawn
    assert "p95 ms" in drawn


def test_server_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert top("--url", "http://127.0.0.1:9") != 0
    assert "http://127.0.0.1:9 does not answer" in capsys.readouterr().err
    assert top("--data", str(tmp_path)) != 0
    assert "memorist serve" in capsys.readouterr().err


def test_key_that_is_no_admins_is_refused(watched: Served, capsys: pytest.CaptureFixture[str]) -> None:
    with watched.client(new_tenant()) as client:
        key = client.headers["Authorization"].removeprefix("Bearer ")
    assert top("--url", watched.url, "--key", key) != 0
    assert "admin" in capsys.readouterr().err


def test_command_line_without_it_does_not_load_what_it_needs() -> None:
    script = "import sys, memorist.bootstrap; sys.exit(bool({'prometheus_client', 'opentelemetry'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


class _Twice(threading.Event):
    """Somebody who looks twice more, and then has seen enough."""

    looks = 0

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002
        self.looks += 1
        return self.looks > 2


@pytest.mark.parametrize("as_json", [True, False])
def test_live_view_is_of_the_time_between_looks(
    watched: Served,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    as_json: bool,
) -> None:
    monkeypatch.setattr("memorist.surfaces.cli.top.Event", _Twice)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert top("--url", watched.url, *(["--json"] if as_json else [])) == 0
    shown = capsys.readouterr().out
    if as_json:
        first, *later = [json.loads(line) for line in shown.splitlines()]
        assert len(later) == 2
        assert all(one["seconds"] < first["seconds"] for one in later)
        assert later[-1]["requests"]["routes"][0]["route"] == "/metrics"
    else:
        assert shown.count("in progress") == 3
