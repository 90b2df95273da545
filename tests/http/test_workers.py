"""Several processes of one server: they answer for each other, are started again, end together and count together."""

import os
import re
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import httpx2
import pytest

from memorist.bootstrap import local_principal, open_core
from memorist.memories.values import Draft
from memorist.observing.metrics import Metrics
from memorist.observing.observer import Observer
from memorist.observing.siblings import Siblings, summed
from memorist.platform.validation import MAX_BATCH
from memorist.settings import Settings
from memorist.surfaces.http import workers
from tests.http.conftest import new_memory
from tests.http.test_server import local_key, running
from tests.support.waiting import SOON, eventually

pytestmark = pytest.mark.usefixtures("without_models")


def started(data: Path) -> list[int]:
    """Every process that began to serve."""
    log = (data.parent / f"{data.name}.log").read_text()
    return [int(pid) for pid in re.findall(r"Started server process \[(\d+)\]", log)]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_one_that_is_killed_is_missed_by_nobody_and_started_again(tmp_path: Path, own_database_url: str) -> None:
    data = tmp_path / "data"
    with running(data, "--workers", "2", "--database", own_database_url) as (process, address):
        eventually(lambda: len(started(data)) == 2)
        headers = local_key(data)

        def write(number: int) -> int:
            # A connection of its own each: one that is open to the process that dies ends with it.
            return httpx2.post(f"{address}/v1/memories", json=new_memory(f"n{number}"), headers=headers).status_code

        assert [write(number) for number in range(6)] == [201] * 6
        os.kill(started(data)[0], signal.SIGKILL)
        assert [write(number) for number in range(6, 18)] == [201] * 12
        eventually(lambda: len(started(data)) == 3)
        assert httpx2.get(f"{address}/readyz").json() == {"status": "ready"}
        seen = httpx2.get(f"{address}/v1/memories", params={"limit": 100}, headers=headers).json()["data"]
        assert len(seen) == 18
        process.terminate()
        assert process.wait(timeout=40) == -signal.SIGTERM
        assert list((data / "servers").iterdir()) == []
        assert not [pid for pid in started(data) if is_alive(pid)]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="The system does not tell what a process has mapped.")
def test_they_search_one_saved_index(tmp_path: Path) -> None:
    data = tmp_path / "data"
    texts = [f"note {number} is about pelicans" for number in range(4200)]
    core = open_core(Settings(data=data))
    for start in range(0, len(texts), MAX_BATCH):
        core.memories.remember(local_principal(core, Settings()), list(map(Draft, texts[start : start + MAX_BATCH])))
    core.close()
    with running(data, "--workers", "2") as (_, address):
        headers = local_key(data)

        def both_have_mapped_the_same() -> bool:
            asked = {"query": "pelicans of note 4127", "top_k": 1}
            found = httpx2.post(f"{address}/v1/records/recall", json=asked, headers=headers).json()
            assert found["hits"][0]["memory"]["content"] == texts[4127]
            mapped = [mapped_indexes(pid) for pid in started(data)]
            return len(mapped) == 2 and len(mapped[0]) == 1 and mapped[0] == mapped[1]

        eventually(both_have_mapped_the_same)


def mapped_indexes(pid: int) -> set[str]:
    """The numbers of the saved indexes that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[4] for line in lines if ".shelf" in line}


def test_they_count_together_and_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data, "--workers", "2") as (process, address):
        eventually(lambda: len(started(data)) == 2)
        for _ in range(8):
            httpx2.get(f"{address}/docs")
        told = 'memorist_http_requests_total{method="GET",route="/docs",status="200"} 8.0'
        for _ in range(4):
            eventually(lambda: told in httpx2.get(f"{address}/metrics").text)
        process.kill()
        eventually(lambda: not [pid for pid in started(data) if is_alive(pid)])


def test_counts_are_added_up_and_what_is_of_the_database_is_shown_once(tmp_path: Path) -> None:
    metrics = [Metrics(), Metrics()]
    for one, status in zip(metrics, (200, 201), strict=True):
        one.request("/v1/recall", "POST", status, 0.02)
        one.count("degraded", "", 2)
    shared = [
        lambda: {"jobs running": {"": 3.0}, "lag": {"": 2.0}},
        lambda: {"jobs running": {"": 4.0}, "lag": {"": 5.0}},
    ]
    siblings = [
        Siblings(tmp_path, number, partial(lambda one, gauges: one.text(gauges)[0], one, gauges))
        for number, (one, gauges) in enumerate(zip(metrics, shared, strict=True))
    ]
    own = metrics[0].text(lambda: {**shared[0](), "tenants": {"": 7.0}})[0]
    text = summed(own, siblings[0].texts()).decode()
    for line in (
        "memorist_recalls_degraded_total 4.0",
        'memorist_http_requests_total{method="POST",route="/v1/recall",status="200"} 1.0',
        'memorist_http_requests_total{method="POST",route="/v1/recall",status="201"} 1.0',
        'memorist_http_request_seconds_count{method="POST",route="/v1/recall"} 2.0',
        "memorist_jobs_running 7.0",
        "memorist_index_lag_seconds 5.0",
        "memorist_tenants 7.0",
    ):
        assert f"\n{line}\n" in text
    siblings[1].close()
    assert list(siblings[0].texts()) == []
    siblings[0].close()


def test_one_that_cannot_count_keeps_nobody_from_counting(tmp_path: Path) -> None:
    texts = iter([b"memorist_tenants 1", None, b"memorist_tenants 2.0\n"])

    def count() -> bytes:
        text = next(texts)
        if text is None:
            raise RuntimeError("the database is away")
        return text

    asking, asked = Siblings(tmp_path, 0, bytes), Siblings(tmp_path, 1, count)
    assert [list(asking.texts()) for _ in range(3)] == [[], [], ["memorist_tenants 2.0\n"]]
    asked.close()
    asking.close()
    deep = tmp_path / ("long" * 40)
    deep.mkdir()
    watch = Observer(Metrics())
    watch.share(deep, 0, dict)
    assert watch.exposition(dict) is not None


def test_one_that_cannot_be_started_is_tried_again_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    worker = workers._Worker(0)
    with socket.socket() as listener:
        task = workers.Task(Settings(), {}, listener.fileno(), tmp_path)
        first = worker.see_to(task)
        worker._failures, worker._not_before = 5000, 0.0  # After days.
        later = worker.see_to(task)
    assert first is not None
    assert later is not None
    assert 0 < first < 1 < later < 31


def test_where_none_can_serve_the_server_ends_as_they_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_RUN", "import sys; sys.stdin.readline(); sys.exit(6)")
    listener = socket.create_server(("127.0.0.1", 0))
    with pytest.raises(SystemExit) as ended:
        workers.run_together(listener, Settings(data=tmp_path, workers=2), None)
    assert ended.value.code == 6
    assert listener.fileno() == -1


def test_one_that_cannot_serve_says_why_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        task = workers.Task(Settings(database=str(tmp_path / "file")), {}, listener.fileno(), tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", workers._RUN], input=task.line(0), capture_output=True, timeout=SOON, check=False
        )
    assert (done.returncode, done.stdout) == (6, b"")
    assert re.fullmatch(rb"error: [^\n]+ \[store_\w+\]\n", done.stderr)
