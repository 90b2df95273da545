"""Mixed load on one server for minutes: its memory, threads, descriptors and slowest answers stay what they are.

What it needs at first, for models and caches, is not counted: the first third of the time is for that.
"""

import os
import random
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.support.machines import Machine
from tests.support.scripted_http import scripted_server
from tests.support.talking import says
from tests.torture.outcome import Outcome

CLIENTS = 6
MOST_GROWTH = 0.05
SLOWEST = 0.99
# Rows of each user are deleted again, so that the load and not the amount is what lasts.
KEPT = 50


@dataclass
class Sample:
    """The server at one moment, and how long the calls since the one before took."""

    resident: int
    threads: int
    descriptors: int
    seconds: list[float]


@dataclass
class Load:
    url: str
    key: str
    stopped: threading.Event = field(default_factory=threading.Event)
    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    calls: int = 0

    def work(self, number: int, seed: int) -> None:
        rng = random.Random(f"{seed} {number}")
        headers = {"Authorization": f"Bearer {self.key}", "X-Memorist-User": f"user{number}"}
        own: list[str] = []
        with httpx2.Client(base_url=self.url, headers=headers, timeout=60) as client:
            while not self.stopped.is_set():
                began = time.monotonic()
                answer = self._call(client, rng, own)
                self.seconds.append(time.monotonic() - began)
                self.calls += 1
                if not answer.is_success:
                    self.failures.append(f"{answer.request.method} {answer.request.url.path}: {answer.status_code}")

    def _call(self, client: httpx2.Client, rng: random.Random, own: list[str]) -> httpx2.Response:
        step = rng.random()
        if len(own) > KEPT:
            return client.post("/v1/records/erase", json={"ids": [own.pop(0) for _ in range(10)]})
        if step < 0.35 or not own:
            answer = client.post("/v1/records", json={"content": f"Tea number {rng.random()} is drunk at four."})
            own.append(answer.json()["memory"]["id"])
            return answer
        if step < 0.65:
            return client.post("/v1/records/recall", json={"query": f"tea number {rng.random()}"})
        if step < 0.8:
            return client.get(f"/v1/records/{rng.choice(own)}")
        if step < 0.9:
            return client.patch(f"/v1/records/{rng.choice(own)}", json={"importance": rng.randrange(100)})
        if step < 0.95:
            return client.get("/v1/records", params={"limit": 20})
        return client.post("/v1/context", json={"question": "What is drunk at four?"})


def run(folder: Path, *, seed: int, minutes: float, models: str = "local", strict: bool = True) -> Outcome:
    """Load for so long. Without `strict`, for a time too short to tell, only what can never grow is held against it."""
    outcome = Outcome("soak")
    data = folder / "soak" / "data"
    data.parent.mkdir(parents=True, exist_ok=True)
    with scripted_server(says("Noted.")) as model:
        others = {"MEMORIST_EMBEDDER": models, "MEMORIST_KEY_RATE": "0", "MEMORIST_USER_RATE": "0"}
        machine = Machine(data, model.url, others=others)
        machine.start()
        try:
            samples = _watch(machine, Load(machine.url, machine.key("service")), seed, minutes, outcome)
        finally:
            machine.stop()
    _judge(samples, outcome, strict=strict)
    return outcome


def _watch(machine: Machine, load: Load, seed: int, minutes: float, outcome: Outcome) -> list[Sample]:
    assert machine.process is not None
    samples: list[Sample] = []
    pause = max(0.5, minutes * 60 / 60)
    with ThreadPoolExecutor(CLIENTS) as pool:
        futures = [pool.submit(load.work, number, seed) for number in range(CLIENTS)]
        ends = time.monotonic() + minutes * 60
        while time.monotonic() < ends and not any(one.done() for one in futures):
            load.stopped.wait(pause)
            taken, load.seconds = load.seconds, []
            samples.append(_sample(machine.process.pid, taken))
        load.stopped.set()
    for future in futures:
        future.result()
    outcome.counts["calls"], outcome.counts["samples"] = load.calls, len(samples)
    outcome.failures += load.failures[:3]
    return samples


def _sample(pid: int, seconds: list[float]) -> Sample:
    folder = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
    descriptors = len(os.listdir(folder / "fd"))
    return Sample(int(status["VmRSS"].split()[0]), int(status["Threads"]), descriptors, seconds)


def _judge(samples: list[Sample], outcome: Outcome, *, strict: bool) -> None:
    """The last third against the one before it."""
    third = len(samples) // 3
    before, after = samples[third : 2 * third], samples[2 * third :]
    if not before:
        outcome.fail("there was no time to tell anything")
        return
    resident = [statistics.median(one.resident for one in part) for part in (before, after)]
    slowest = [_slowest(part) for part in (before, after)]
    threads = [max(one.threads for one in part) for part in (before, after)]
    descriptors = [max(one.descriptors for one in part) for part in (before, after)]
    outcome.counts["MiB resident"] = round(resident[1] / 1024)
    outcome.counts["per mille growth"] = round(1000 * (resident[1] / resident[0] - 1))
    outcome.counts["ms p99 before"], outcome.counts["ms p99"] = (round(1000 * one) for one in slowest)
    outcome.counts["threads"], outcome.counts["descriptors"] = threads[1], descriptors[1]
    outcome.check(threads[1] <= threads[0] + CLIENTS, f"threads grew from {threads[0]} to {threads[1]}")
    outcome.check(descriptors[1] <= descriptors[0] + CLIENTS, f"descriptors grew: {descriptors}")
    if strict:
        outcome.check(resident[1] <= resident[0] * (1 + MOST_GROWTH), f"memory grew: {resident} KiB")
        outcome.check(slowest[1] <= slowest[0] * 1.5, f"p99 grew from {slowest[0]:.3f} s to {slowest[1]:.3f} s")


def _slowest(part: list[Sample]) -> float:
    seconds = sorted(second for one in part for second in one.seconds)
    return seconds[int(len(seconds) * SLOWEST)] if seconds else 0.0
