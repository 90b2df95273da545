"""Clients that go and come back, and servers that are killed, while answers are being streamed."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.machines import Machine
from tests.support.scripted_http import ScriptedServer
from tests.support.talking import says
from tests.support.waiting import eventually
from tests.turns.test_turns import parse

ANSWER = " ".join(f"word{number}" for number in range(60))
CLIENTS = 12
INTERRUPTIONS = 200
KILLS = 4


@dataclass
class Log:
    machine: Machine
    interruptions: int = 0
    turns: list[list[tuple[int, str, dict[str, Any]]]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def interrupted(self) -> None:
        with self.lock:
            self.interruptions += 1

    @property
    def enough(self) -> bool:
        return self.interruptions >= INTERRUPTIONS and self.machine.kills >= KILLS


def talk(number: int, address: str, key: str, log: Log, deadline: float) -> None:
    """Take turns, cut every stream somewhere, and come back for the rest."""
    rng = random.Random(number)
    headers = {"Authorization": f"Bearer {key}", "X-Memorist-User": f"user{number}", "Accept": "text/event-stream"}
    with httpx2.Client(base_url=address, headers=headers, timeout=30) as client:
        while not log.enough and time.monotonic() < deadline:
            body = {"messages": [{"role": "user", "content": f"I prefer tea number {rng.random()}."}]}
            retry_key = f"key-{number}-{rng.random()}"
            events: list[tuple[int, str, dict[str, Any]]] = []
            while not events or events[-1][1] not in ("turn.completed", "turn.failed"):
                assert time.monotonic() < deadline, f"a turn is stuck after {events[-1:]}"
                try:
                    if not events:
                        request = client.build_request(
                            "POST", "/v1/turns", json=body, headers={"Idempotency-Key": retry_key}
                        )
                    else:
                        turn_id = events[0][2]["turn_id"]
                        position = {"Last-Event-ID": str(events[-1][0])}
                        request = client.build_request("GET", f"/v1/turns/{turn_id}/events", headers=position)
                    read_some(client, request, events, rng.choice([1, 2, 5, 20, 1000]))
                except httpx2.ConnectError:
                    log.machine.is_up.wait(30)  # Nobody is there: that is no interruption, but the wait after one.
                except httpx2.HTTPError:
                    log.interrupted()
                else:
                    log.interrupted()
            with log.lock:
                log.turns.append(events)


def read_some(client: httpx2.Client, request: httpx2.Request, events: list[Any], most: int) -> None:
    response = client.send(request, stream=True)
    try:
        if response.status_code == 409:  # The same request is still being looked at.
            return
        assert response.status_code in (200, 201), response.read()
        text = ""
        count = 0
        for piece in response.iter_text():
            text += piece
            while "\n\n" in text and count < most:
                block, text = text.split("\n\n", 1)
                found = parse(block)
                events += found
                count += len(found)
            if count >= most:
                return
    finally:
        response.close()


@pytest.fixture
def machine(tmp_path: Path, model: ScriptedServer):
    model.always = says(ANSWER, pause=0.004)
    machine = Machine(tmp_path / "data", model.url)
    machine.start()
    try:
        yield machine
    finally:
        machine.stop()


def test_two_hundred_interruptions_leave_no_gap_no_repetition_and_no_turn_that_hangs(machine: Machine) -> None:
    key = machine.key("service")
    log = Log(machine)
    deadline = time.monotonic() + 240
    with ThreadPoolExecutor(CLIENTS) as clients:
        futures = [clients.submit(talk, number, machine.url, key, log, deadline) for number in range(CLIENTS)]
        for kill in range(1, KILLS + 1):
            # Spread over all of it, and always while many are being answered.
            enough = kill * INTERRUPTIONS // (KILLS + 1)
            eventually(lambda enough=enough: log.interruptions >= enough or any(one.done() for one in futures))
            machine.kill()
            machine.start()
        for future in futures:
            future.result()
    assert machine.kills == KILLS
    assert log.interruptions >= INTERRUPTIONS
    assert len(log.turns) >= CLIENTS
    for events in log.turns:
        assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
        assert sum(name in ("turn.completed", "turn.failed") for _, name, _ in events) == 1
        told = "".join(data["text"] for _, name, data in events if name == "answer.delta")
        assert ANSWER.startswith(told)
        if events[-1][1] == "turn.completed":
            assert told == ANSWER
        else:
            assert events[-1][2]["error"]["code"] == "turn_interrupted"
    outcomes = {events[-1][1] for events in log.turns}
    assert outcomes == {"turn.completed", "turn.failed"}
