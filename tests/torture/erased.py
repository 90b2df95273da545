"""Markers, words that are nowhere else, through every door: said, edited, replaced, learned from, exported, refused.

Then the person is erased, and not a byte of any marker is left: in no file or row of the database, nor in the log.
"""

import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

from tests.erasure.conftest import every_row
from tests.facts.test_llm_judge import answer, ruling
from tests.support.machines import Machine
from tests.support.scripted_http import Body, Reply, scripted_server
from tests.support.stores import bytes_in
from tests.support.talking import says
from tests.support.waiting import eventually
from tests.torture.outcome import Outcome


class Person:
    """Somebody whose name is a marker too, and what they say through each door."""

    def __init__(self, url: str, key: str, rng: random.Random) -> None:
        self._rng = rng
        self.markers: list[str] = []
        self.name = self.word()
        headers = {"Authorization": f"Bearer {key}", "X-Memorist-User": self.name}
        self._client = httpx2.Client(base_url=url, headers=headers, timeout=60)

    def word(self) -> str:
        # Written as a word, so that nothing takes it for a secret.
        self.markers.append("".join(self._rng.choices(string.ascii_lowercase, k=18)))
        return self.markers[-1]

    def say_everywhere(self) -> None:
        for door in (self._profile, self._companion, self._agent_tools, self._assistant, self._lifecycle, self._native):
            door()
        self._wrongly()

    def close(self) -> None:
        self._client.close()

    def _send(self, method: str, path: str, **body: Any) -> Any:
        answer = self._client.request(method, path, **({"json": body} if body else {}))
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json() if answer.content and "json" in answer.headers["content-type"] else None

    def _profile(self) -> None:
        fields = {"description": self.word(), "body": f"About {self.word()}."}
        row = self._send("POST", "/v1/memories", type="user", name=f"n-{self.word()}", **fields)
        self._send("PATCH", f"/v1/memories/{row['id']}", body=f"Now about {self.word()}.", description=self.word())
        self._client.get("/v1/memories/section")

    def _companion(self) -> None:
        self._send("POST", "/v1/memory", text=f"Wants to see {self.word()}.", category="goal")
        gone = self._send("POST", "/v1/memory", text=f"Likes {self.word()}.", category="preference")
        self._send("DELETE", f"/v1/memory/{gone['id']}")
        finding = {"finding_id": self.word(), "feature": self.word(), "target": self.word(), "effect": self.word()}
        self._send("POST", "/v1/findings", verdict="validated", text=f"{self.word()} helps.", **finding)
        said = {"role": "user", "content": f"I live in {self.word()} and like {self.word()}."}
        self._send("POST", "/v1/turns", messages=[said], context={"session_id": f"s-{self.word()}"})

    def _agent_tools(self) -> None:
        session = f"/v1/sessions/s-{self.word()}"
        for place in (self.word(), self.word()):
            # The second replaces what was learned from the first.
            said = [{"role": "user", "content": f"I live in {place}.", "name": self.word()}]
            self._send("POST", f"{session}/messages", messages=said)
            self._send("POST", "/v1/tools/remember_fact", content=f"My favourite town is {place}.")
        output = {"tool_call_id": self.word(), "tool_name": self.word(), "content": f"{self.word()} " + "x " * 4000}
        self._send("POST", f"{session}/tool-outputs", **output)
        document = {"title": self.word(), "content": f"On {self.word()}. " * 30, "document_id": self.word()}
        self._send("POST", "/v1/documents", shared=False, **document)
        self._send("POST", "/v1/tools/recall", query=f"where is {self.word()}")

    def _assistant(self) -> None:
        chunk = {"content": f"Use {self.word()}.", "sourceExcerpt": self.word(), "projectPath": f"/srv/{self.word()}"}
        self._send("POST", "/api/memory/store", chunkType="decision", sessionId=self.word(), **chunk)
        transcript = f"User: I prefer {self.word()} over {self.word()}.\nAssistant: Noted."
        self._send("POST", "/api/memory/extract", transcript=transcript, projectPath=f"/srv/{self.word()}")
        self._client.get("/api/memory/search", params={"query": self.word()})

    def _lifecycle(self) -> None:
        row = self._send("POST", "/memory/add", content=f"Seen {self.word()}.", metadata={self.word(): self.word()})
        self._send("DELETE", f"/memory/{row['id']}")
        self._send("POST", "/memory/query", query=self.word())

    def _native(self) -> None:
        fields = {"category": f"c-{self.word()}", "project": self.word(), "session": self.word()}
        made = self._send("POST", "/v1/records", content=f"Holds {self.word()}.", excerpt=self.word(), **fields)
        memory_id = made["memory"]["id"]
        self._send("PATCH", f"/v1/records/{memory_id}", content=f"Held {self.word()}.", meta={"a": [self.word()]})
        self._send("POST", f"/v1/records/{memory_id}/archive")
        self._send("POST", "/v1/context", question=f"What of {self.word()}?")
        assert self._client.get("/v1/records/export").is_success
        self._client.get("/v1/about", params={"person": self.word()})

    def _wrongly(self) -> None:
        """What is refused leaves its words nowhere either."""
        self._client.get(f"/v1/records/{self.word()}")
        self._client.get(f"/v1/documents/{self.word()}")
        self._client.get("/v1/memories", params={self.word(): self.word()})
        self._client.post("/v1/records", json={self.word(): self.word()})
        self._client.post("/v1/records", content=f'{{"content": "{self.word()}'.encode())
        self._client.post(f"/v1/{self.word()}", json={})


def run(folder: Path, databases: dict[str, str], *, seed: int, rounds: int) -> Outcome:
    """`rounds` is how many markers are planted on each database (a name and its address; empty for a file)."""
    outcome = Outcome("erasure")
    for name, url in databases.items():
        _erase(folder / name / "data", url, random.Random(f"{seed} {name}"), rounds, outcome)
    return outcome


def _erase(data: Path, url: str, rng: random.Random, count: int, outcome: Outcome) -> None:
    data.parent.mkdir(parents=True, exist_ok=True)
    with scripted_server(_echo) as model:
        others = {"MEMORIST_LOG_LEVEL": "debug", "MEMORIST_KEY_RATE": "0", "MEMORIST_USER_RATE": "0"}
        machine = Machine(data, model.url, database=url, others=others)
        machine.start()
        try:
            key = machine.key("admin")
            people = list(_people(machine.url, key, rng, count))
            markers = [marker for person in people for marker in person.markers]
            tenant = httpx2.get(f"{machine.url}/v1/principal", headers={"Authorization": f"Bearer {key}"}).json()[
                "tenant"
            ]
            held = _held(data, url, tenant, markers)
            outcome.counts["markers"] += len(markers)
            outcome.check(len(held) > len(markers) / 2, f"only {len(held)} of {len(markers)} markers were stored")
            for person in people:
                _forget(machine.url, key, person.name)
        finally:
            machine.stop()
        left = _held(data, url, tenant, markers)
        logged = {marker for marker in markers if marker.encode() in machine.log.read_bytes()}
        outcome.counts["left in the database"] += len(left)
        outcome.counts["left in the log"] += len(logged)
        outcome.check(not left, f"the database at {url or data} holds {sorted(left)[:3]}")
        outcome.check(not logged, f"the log holds {sorted(logged)[:3]}")


def _people(url: str, key: str, rng: random.Random, count: int) -> Iterator[Person]:
    planted = 0
    while planted < count:
        person = Person(url, key, rng)
        person.say_everywhere()
        # What is learned in the background is erased as well, once it is there.
        eventually(lambda person=person: not person._client.get("/v1/jobs?status=waiting").json()["data"])
        person.close()
        planted += len(person.markers)
        yield person


def _forget(url: str, key: str, name: str) -> None:
    with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=120) as admin:
        receipt = admin.delete(f"/v1/admin/users/{name}").json()
        eventually(lambda: admin.get(f"/v1/receipts/{receipt['id']}").json()["status"] == "done")
        found = admin.post(f"/v1/receipts/{receipt['id']}/verify").json()
        assert found["ok"], found


def _held(data: Path, url: str, tenant: str, markers: list[str]) -> set[str]:
    content = b"\n".join(every_row(url, tenant)) if url else bytes_in(data)
    return {marker for marker in markers if marker.encode() in content}


def _echo(reply: Reply, body: Body) -> None:
    """The model says again what it was told last. It judges well: a job that fails is tried again minutes later."""
    told = body["messages"][-1]["content"]
    if not body.get("stream") and "older" in str(told):
        answer(ruling("contradicts"))(reply, body)
        return
    says(f"You said: {told if isinstance(told, str) else str(told)[:200]}")(reply, body)
