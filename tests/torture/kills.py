"""SIGKILL of a server, its models on, while eight clients write, edit, delete, take turns and have things learned.

Nothing that was acknowledged is lost, nothing is torn, every row has its index and its event, and no turn hangs.
"""

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from memorist.bootstrap import open_store
from tests.store.test_kills import Acknowledged, check_file, check_tenant
from tests.support.machines import Machine
from tests.support.scripted_http import scripted_server
from tests.support.stores import bare
from tests.support.talking import says
from tests.support.waiting import eventually
from tests.torture.outcome import Outcome

CLIENTS = 8
STEPS = ["write"] * 4 + ["edit"] * 3 + ["forget"] * 2 + ["turn", "learn"]


@dataclass
class Clients:
    """What all of them were told is durable."""

    machine: Machine
    key: str
    acknowledged: Acknowledged = field(default_factory=Acknowledged)
    turns: list[tuple[str, str]] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    stopped: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def work(self, number: int, seed: int) -> None:
        """Call after call until it is stopped; where the server is gone, wait for it."""
        rng = random.Random(f"{seed} {number}")
        own: list[str] = []
        headers = {"Authorization": f"Bearer {self.key}", "X-Memorist-User": f"user{number}"}
        with httpx2.Client(base_url=self.machine.url, headers=headers, timeout=60) as client:
            while not self.stopped.is_set():
                step = rng.choice(STEPS)
                try:
                    getattr(self, f"_{step if own else 'write'}")(client, rng, own)
                except httpx2.HTTPError:
                    self.machine.is_up.wait(60)
                    continue
                with self.lock:
                    self.done[step] += 1

    def _write(self, client: httpx2.Client, rng: random.Random, own: list[str]) -> None:
        answer = client.post("/v1/records", json={"content": f"fresh {rng.random()}"})
        memory_id = answer.json()["memory"]["id"]
        own.append(memory_id)
        with self.lock:
            self.acknowledged.versions[memory_id] = None

    def _edit(self, client: httpx2.Client, rng: random.Random, own: list[str]) -> None:
        memory_id = rng.choice(own)
        answer = client.patch(f"/v1/records/{memory_id}", json={"content": f"edited {rng.random()}"})
        if answer.is_success:
            with self.lock:
                self.acknowledged.versions[memory_id] = answer.json()["version"]
        else:
            # Forgotten by a call whose answer the kill cut off.
            assert answer.status_code == 404, answer.text
            own.remove(memory_id)

    def _forget(self, client: httpx2.Client, rng: random.Random, own: list[str]) -> None:
        memory_id = own.pop(rng.randrange(len(own)))
        answer = client.delete(f"/v1/records/{memory_id}")
        assert answer.status_code in (200, 404), answer.text
        with self.lock:
            self.acknowledged.forgotten.add(memory_id)

    def _turn(self, client: httpx2.Client, rng: random.Random, _: list[str]) -> None:
        body = {"messages": [{"role": "user", "content": f"I prefer tea {rng.random()}."}]}
        answer = client.post("/v1/turns", json=body)
        assert answer.status_code == 201, answer.text
        with self.lock:
            self.turns.append((client.headers["X-Memorist-User"], answer.json()["id"]))

    def _learn(self, client: httpx2.Client, rng: random.Random, _: list[str]) -> None:
        said = [{"role": "user", "content": f"I live in town {rng.random()}."}]
        answer = client.post("/v1/sessions/talk/messages", json={"messages": said})
        with self.lock:
            self.acknowledged.versions.update(dict.fromkeys(answer.json()["ids"]))


def run(folder: Path, databases: dict[str, str], *, seed: int, rounds: int, models: str = "local") -> Outcome:
    """`rounds` kills on each database (a name and its address; empty for a file)."""
    outcome = Outcome("kills")
    for name, url in databases.items():
        with scripted_server(says("Noted, I will remember that.")) as model:
            data = folder / name / "data"
            data.parent.mkdir(parents=True, exist_ok=True)
            others = {"MEMORIST_EMBEDDER": models, "MEMORIST_KEY_RATE": "0", "MEMORIST_USER_RATE": "0"}
            machine = Machine(data, model.url, database=url, others=others)
            machine.start()
            try:
                _kill_often(machine, seed, rounds, outcome)
            finally:
                machine.stop()
    return outcome


def _kill_often(machine: Machine, seed: int, rounds: int, outcome: Outcome) -> None:
    rng = random.Random(seed)
    clients = Clients(machine, machine.key("service"))
    tenant = _principal(clients)["tenant"]
    with ThreadPoolExecutor(CLIENTS) as pool:
        futures = [pool.submit(clients.work, number, seed) for number in range(CLIENTS)]
        try:
            for _ in range(rounds):
                wanted = clients.done.total() + rng.choice((3, 20, 60))
                eventually(lambda wanted=wanted: clients.done.total() >= wanted or any(one.done() for one in futures))
                machine.kill()
                outcome.counts["kills"] += 1
                _look(machine, tenant, clients, outcome)
                machine.start()
        finally:
            clients.stopped.set()
            machine.is_up.set()
    for future in futures:
        future.result()
    _look_at_turns(clients, outcome)
    machine.stop()
    _look(machine, tenant, clients, outcome)
    if not machine.database:
        check_file(str(machine.data / "memorist.db"))
    outcome.counts["acknowledged"] += len(clients.acknowledged.versions)
    outcome.counts.update(clients.done)


def _look(machine: Machine, tenant: str, clients: Clients, outcome: Outcome) -> None:
    """What the store holds while nobody serves it."""
    store = open_store(bare(machine.database or str(machine.data / "memorist.db")))
    with clients.lock:
        known = Acknowledged()
        known.versions, known.forgotten = dict(clients.acknowledged.versions), set(clients.acknowledged.forgotten)
    try:
        check_tenant(store, tenant, known)
    except AssertionError as error:
        outcome.fail(str(error))
    finally:
        store.close()


def _look_at_turns(clients: Clients, outcome: Outcome) -> None:
    with httpx2.Client(base_url=clients.machine.url, timeout=60) as client:
        for user, turn_id in clients.turns:
            headers = {"Authorization": f"Bearer {clients.key}", "X-Memorist-User": user}
            turn = client.get(f"/v1/turns/{turn_id}", headers=headers).json()
            outcome.check(turn.get("status") in ("completed", "failed"), f"a turn is lost or hangs: {turn}")
            outcome.counts["turns looked at"] += 1


def _principal(clients: Clients) -> Any:
    headers = {"Authorization": f"Bearer {clients.key}"}
    return httpx2.get(f"{clients.machine.url}/v1/principal", headers=headers).json()
