"""Random programs over the native door against a model: several processes at once, in each two servers over one
database, and every step goes to one of the two.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from memorist.platform.values import Role
from memorist.settings import Settings
from memorist.testing import new_tenant
from tests.http.conftest import serving
from tests.support.processes import in_processes
from tests.torture.outcome import Outcome

ACTIVE, ARCHIVED, DELETED = "active", "archived", "soft_deleted"
STEPS = ["add"] * 5 + ["named"] * 2 + ["edit", "forget", "archive", "restore", "read", "list", "recall", "events"] * 2
NO_SUCH_ID = "mem_00000000000000000000000000"


@dataclass
class Row:
    """What is expected of one memory."""

    content: str
    name: str | None
    importance: int
    status: str = ACTIVE
    events: list[str] = field(default_factory=lambda: ["created"])


class Program:
    """One tenant, its user's calls in their order, and what is expected of each."""

    def __init__(self, clients: list[httpx2.Client], key: str, rng: random.Random) -> None:
        self._clients = clients
        self._headers = {"Authorization": f"Bearer {key}"}
        self._rng = rng
        self.rows: dict[str, Row] = {}

    def run(self, steps: int) -> Counter[str]:
        done = Counter[str]()
        for number in range(steps):
            step = self._rng.choice(STEPS)
            getattr(self, f"_{step}")(number)
            done[step] += 1
        self._list(0)
        return done

    def _call(self, method: str, path: str, status: int | set[int], **options: Any) -> Any:
        answer = self._rng.choice(self._clients).request(method, path, headers=self._headers, **options)
        expected = status if isinstance(status, set) else {status}
        assert answer.status_code in expected, f"{method} {path} {options}: {answer.status_code} {answer.text[:300]}"
        return answer.json()

    def _any_row(self) -> tuple[str, Row | None]:
        memory_id = self._rng.choice([*self.rows, NO_SUCH_ID])
        return memory_id, self.rows.get(memory_id)

    # Steps

    def _add(self, number: int) -> None:
        # Some texts are told again: the same fact is one memory.
        content = f"kiln{self._rng.randrange(20)} of program" if number % 3 == 0 else f"glaze{self._rng.random()}"
        self._remember(content, None)

    def _named(self, number: int) -> None:
        self._remember(f"named {number} {self._rng.random()}", f"n{self._rng.randrange(6)}")

    def _remember(self, content: str, name: str | None) -> None:
        importance = self._rng.randrange(9)
        body: dict[str, Any] = {"content": content, "importance": importance}
        same = [(one, row) for one, row in self.rows.items() if row.status == ACTIVE and row.content == content]
        taken = name is not None and any(row.status == ACTIVE and row.name == name for row in self.rows.values())
        if taken:
            self._call("POST", "/v1/records", 409, json=body | {"name": name})
            return
        answer = self._call("POST", "/v1/records", 201, json=body | ({"name": name} if name else {}))
        memory_id = answer["memory"]["id"]
        if same and name is None:
            assert (memory_id, answer["was_new"]) == (same[0][0], False), answer
            same[0][1].events.append("deduplicated")
        else:
            assert answer["was_new"], answer
            assert memory_id not in self.rows
            self.rows[memory_id] = Row(content, name, importance)

    def _edit(self, _: int) -> None:
        memory_id, row = self._any_row()
        importance = self._rng.randrange(10, 10**6)
        is_there = row is not None and row.status == ACTIVE
        answer = self._call("PATCH", f"/v1/records/{memory_id}", self._found(row), json={"importance": importance})
        if is_there and row is not None:
            assert answer["importance"] == importance
            row.importance = importance
            row.events.append("updated")

    def _forget(self, _: int) -> None:
        memory_id, row = self._any_row()
        is_there = row is not None and row.status in (ACTIVE, ARCHIVED)
        self._call("DELETE", f"/v1/records/{memory_id}", 200 if is_there else 404)
        if is_there and row is not None:
            row.status = DELETED
            row.events.append("deleted")

    def _archive(self, _: int) -> None:
        memory_id, row = self._any_row()
        self._call("POST", f"/v1/records/{memory_id}/archive", self._found(row))
        if row is not None and row.status == ACTIVE:
            row.status = ARCHIVED
            row.events.append("archived")

    def _restore(self, _: int) -> None:
        memory_id, row = self._any_row()
        others = [one for one in self.rows.values() if one is not row and one.status == ACTIVE]
        clashes = row is not None and any(
            (row.name is None and one.name is None and one.content == row.content)
            or (row.name is not None and one.name == row.name)
            for one in others
        )
        allowed = row is not None and row.status != ACTIVE and not clashes
        status = 200 if allowed else 404 if row is None else 409
        self._call("POST", f"/v1/records/{memory_id}/restore", status)
        if allowed and row is not None:
            row.status = ACTIVE
            row.events.append("restored")

    def _found(self, row: Row | None) -> int | set[int]:
        """What a change that needs an active memory answers."""
        if row is None or row.status == DELETED:
            return {404, 409} if row is not None else 404
        return 200 if row.status == ACTIVE else {200, 404, 409}

    def _read(self, _: int) -> None:
        memory_id, row = self._any_row()
        is_there = row is not None and row.status in (ACTIVE, ARCHIVED)
        answer = self._call("GET", f"/v1/records/{memory_id}", 200 if is_there else 404)
        if is_there and row is not None:
            shown = (answer["content"], answer["name"], answer["importance"], answer["status"])
            assert shown == (row.content, row.name, row.importance, row.status)

    def _list(self, _: int) -> None:
        status = self._rng.choice((ACTIVE, ARCHIVED, DELETED))
        found: list[str] = []
        cursor: str | None = None
        while True:
            limit = self._rng.choice((1, 3, 100))
            page = {"status": status, "limit": limit} | ({"cursor": cursor} if cursor else {})
            answer = self._call("GET", "/v1/records", 200, params=page)
            found += [one["id"] for one in answer["data"]]
            cursor = answer["next_cursor"]
            if cursor is None:
                break
        expected = {one for one, row in self.rows.items() if row.status == status}
        assert len(found) == len(set(found))
        assert set(found) == expected, f"{status}: {set(found) ^ expected}"

    def _recall(self, _: int) -> None:
        _, row = self._any_row()
        if row is None:
            return
        word = row.content.split()[0]
        body = {"query": word, "top_k": 20, "min_score": 0.05}
        answer = self._call("POST", "/v1/records/recall", 200, json=body)
        expected = {
            one for one, it in self.rows.items() if it.status == ACTIVE and it.content.split()[0] == word != "named"
        }
        found = {
            hit["memory"]["id"] for hit in answer["hits"] if hit["memory"]["content"].split()[0] == word != "named"
        }
        assert found == expected, f"recall of {word}: {found ^ expected}"

    def _events(self, _: int) -> None:
        memory_id, row = self._any_row()
        answer = self._call("GET", f"/v1/records/{memory_id}/events", 200 if row is not None else 404)
        if row is not None:
            assert [one["event_type"] for one in answer["data"]] == row.events


def run(
    folder: Path, databases: dict[str, str], *, seed: int, rounds: int, steps: int = 50, processes: int = 2
) -> Outcome:
    """`rounds` programs of so many steps on each database (a name and its address), divided among processes."""
    outcome = Outcome("programs")
    for name, url in databases.items():
        share = -(-rounds // processes)
        ran = in_processes(processes, _many, str(folder / name), url, seed, share, steps, within=120 + 20 * share)
        for done, failures in ran:
            outcome.counts.update(done)
            outcome.failures += [f"{name}: {one}" for one in failures]
        outcome.counts[f"programs on {name}"] += share * processes
    return outcome


def _many(number: int, folder: str, url: str, seed: int, count: int, steps: int) -> tuple[Counter[str], list[str]]:
    done = Counter[str]()
    failures: list[str] = []
    settings = Settings(
        data=Path(folder), database=url, port=0, embedder="off", reranker="off", user_rate=0, key_rate=0
    )
    with serving(settings) as one, serving(settings) as two:
        clients = [httpx2.Client(base_url=server.url, timeout=60) for server in (one, two)]
        for index in range(count):
            program_seed = f"{seed}/{number}/{index}"
            key = one.key(new_tenant(), Role.USER, "ada")
            try:
                done.update(Program(clients, key, random.Random(program_seed)).run(steps))
            except AssertionError as error:
                failures.append(f"program {program_seed}: {error}")
        for client in clients:
            client.close()
    return Counter({"steps": done.total()}), failures
