"""How servers bear a load like that of many agents at once: recalls and some writes, of many users, on loopback.

Each connection has one request in flight and goes to one server; a user's requests go to the server that a proxy would
choose by `X-Memorist-Affinity`. Databases take turns, so that what disturbs one disturbs the other as well.
"""

import os
import random
import selectors
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from typing import Any
from urllib.parse import urlsplit

from memorist.core import Core
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist_bench.database_cpu import DatabaseCpu
from memorist_bench.metrics import milliseconds
from memorist_bench.quality import Report
from memorist_bench.ratios.load import LoadConnection
from memorist_bench.ratios.servers import request
from memorist_bench.serving import serving
from memorist_bench.speed import fill_tenant
from memorist_bench.texts import questions

_WRITE_EVERY = 10
_ROUNDS = 3
_ALONE = 0.25
"""So long, as a part of the whole, recalls alone are asked, and the empty handler: each, in each round."""
_EMPTY = "/healthz"
_UNLIMITED = {"MEMORIST_KEY_RATE": "0", "MEMORIST_KEY_AT_ONCE": "0", "MEMORIST_METRICS": "local"}
_CPU = "process_cpu_seconds_total "


@dataclass(frozen=True, slots=True)
class AskedDatabase:
    """A database to be asked, and where in it."""

    core: Core
    settings: Settings
    tenant: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much there is, and how much is asked. What ends first, the seconds or the requests, ends a part."""

    users: int = 1000
    memories: int = 20
    """Of each user."""
    at_once: int = 16
    seconds: float = 20.0
    requests: int = 100_000
    servers: tuple[int, ...] = (1, 2)
    rerank: bool = False


@dataclass(slots=True)
class _Tally:
    """What came of the requests of one kind of load on one database."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    elapsed: float = 0.0
    cpu: float = 0.0
    database_cpu: float = 0.0

    @property
    def answers(self) -> int:
        return sum(map(len, self.seconds.values()))

    @property
    def rate(self) -> float:
        return self.answers / self.elapsed if self.elapsed else 0.0

    def cpu_ms(self, of: str) -> dict[str, float]:
        """What each request took to compute: servers, and the database where it is a server of its own here."""
        found = {f"cpu_ms_per_{of}": self.cpu, f"database_cpu_ms_per_{of}": self.database_cpu}
        return {name: round(1000 * cpu / self.answers, 3) for name, cpu in found.items() if cpu}


def name_of(core: Core) -> str:
    """What a database is called in the figures."""
    engine = str(core.store.describe()["engine"])
    return "citus" if "Citus" in engine else "postgresql" if "PostgreSQL" in engine else "sqlite"


def measure_load(places: Mapping[str, AskedDatabase], amounts: Amounts, report: Report) -> dict[str, Any]:
    """Fill each database, then ask servers of each in turns. Raises ModelError or StoreError."""
    for place in places.values():
        total = amounts.users * amounts.memories
        fill_tenant(place.core, place.tenant, place.prefix, total, amounts.users, report)
    runs = []
    for count in amounts.servers:
        report(f"Asking {count} server{'s' if count > 1 else ''}", 0, 1)
        runs += _compare(places, count, amounts)
    found: dict[str, Any] = {
        "users": amounts.users,
        "memories": amounts.users * amounts.memories,
        "at_once": amounts.at_once,
        "rerank": amounts.rerank,
        "cores": os.cpu_count(),
        "errors": sum(run["errors"] for run in runs),
        "runs": runs,
    }
    rates = {(run["database"], run["servers"]): run["requests_per_s"] for run in runs}
    for name in places.keys() - {"sqlite"}:
        found[f"{name}_to_sqlite"] = {
            str(count): round(rates[name, count] / rates["sqlite", count], 3) for count in amounts.servers
        }
    return found


def _compare(places: Mapping[str, AskedDatabase], servers: int, amounts: Amounts) -> list[dict[str, Any]]:
    with ExitStack() as running:
        loads = {}
        for name, place in places.items():
            ports = [
                urlsplit(running.enter_context(serving(place.settings, **_UNLIMITED))).port or 0 for _ in range(servers)
            ]
            loads[name] = _Load(place, ports, amounts)
            running.callback(loads[name].end)
        for load in loads.values():
            load.warm()
        for number in range(_ROUNDS):
            order = list(loads.values())
            for load in order[number % len(order) :] + order[: number % len(order)]:
                load.round()
        return [{"database": name, "servers": servers, **load.figures()} for name, load in loads.items()]


class _Load:
    """The requests to the servers of one database."""

    def __init__(self, place: AskedDatabase, ports: Sequence[int], amounts: Amounts) -> None:
        self._ports = ports
        self._amounts = amounts
        self._users = [f"{place.prefix}-{number}" for number in range(amounts.users)]
        operator = Principal(place.tenant, Role.ADMIN)
        made, self._key = place.core.identity.create_key(operator, Role.SERVICE, label="load")
        self.end = partial(place.core.identity.revoke_key, operator, made.id)
        self._questions = list(islice(questions(7), 500))
        self._random = random.Random(7)
        self._asked = 0
        self._turns: dict[int, Iterator[str]] = {}
        # The path of an SQLite file is no name of a server's database.
        self._database_cpu = DatabaseCpu(str(place.core.store.describe()["place"]))
        self._tallies = {name: _Tally() for name in ("mixed", "recall", "empty")}

    def warm(self) -> None:
        """Every user's index is read once, and the models are there."""
        each = len(self._users) + 4 * self._amounts.at_once
        self._ask(_Tally(), self._recalls_of_each, 3600.0, each)

    def round(self) -> None:
        part = self._amounts.seconds / _ROUNDS
        most = max(1, self._amounts.requests // _ROUNDS)
        self._ask(self._tallies["empty"], lambda _: self._empty(), part * _ALONE, most)
        self._ask(self._tallies["recall"], partial(self._mixed, write_every=0), part * _ALONE, most)
        self._ask(self._tallies["mixed"], partial(self._mixed, write_every=_WRITE_EVERY), part, most)

    def figures(self) -> dict[str, Any]:
        mixed, alone, empty = (self._tallies[name] for name in ("mixed", "recall", "empty"))
        errors = sum((one.errors for one in self._tallies.values()), Counter[str]())
        found: dict[str, Any] = {"requests": mixed.answers, "errors": errors.total()}
        found |= {f"error: {kind}": count for kind, count in errors.items()}
        found["requests_per_s"] = round(mixed.rate, 1)
        for kind, seconds in mixed.seconds.items():
            found |= {f"{kind}_ms_p{percent}": milliseconds(seconds, percent) for percent in (50, 95, 99)}
        found["empty_ms_p50"] = milliseconds(empty.seconds["empty"], 50)
        found["recall_to_empty"] = round(_median(mixed, "recall") / _median(empty, "empty"), 2)
        found |= mixed.cpu_ms("request") | alone.cpu_ms("recall")
        if alone.cpu:
            found["cpu_recall_to_empty"] = round(found["cpu_ms_per_recall"] / (1000 * empty.cpu / empty.answers), 2)
        return found

    def _ask(self, tally: _Tally, of_server: "Callable[[int], _Requests]", seconds: float, most: int) -> None:
        """Ask over and over, and wait for what is under way at the end."""
        before, of_database = self._cpu_seconds(), self._database_cpu.look()
        with selectors.DefaultSelector() as selector, ExitStack() as closing:
            asking = []
            for number in range(self._amounts.at_once):
                port = self._ports[number % len(self._ports)]
                one = _Asking(port, of_server(number % len(self._ports)))
                closing.callback(one.connection.socket.close)
                selector.register(one.connection.socket, selectors.EVENT_READ, one)
                asking.append(one)
            started = time.perf_counter()
            left = most - len(asking)
            for one in asking:
                one.send()
            busy = len(asking)
            while busy:
                for key, _ in selector.select():
                    status = key.data.connection.receive()
                    if status is None:
                        continue
                    key.data.note(tally, status)
                    left -= 1
                    if left >= 0 and time.perf_counter() < started + seconds:
                        key.data.send()
                    else:
                        busy -= 1
            tally.elapsed += time.perf_counter() - started
        tally.cpu += self._cpu_seconds() - before
        tally.database_cpu += self._database_cpu.look() - of_database

    def _cpu_seconds(self) -> float:
        """What the processes of the servers have computed; 0 where this system does not tell."""
        found = 0.0
        for port in self._ports:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                lines = answer.read().decode().splitlines()
            found += sum(float(line.removeprefix(_CPU)) for line in lines if line.startswith(_CPU))
        return found

    def _empty(self) -> "_Requests":
        while True:
            yield "empty", request("GET", _EMPTY, self._key)

    def _recalls_of_each(self, server: int) -> "_Requests":
        """One user after the other, on whichever connection: all those of a server share one turn."""
        if server not in self._turns:
            self._turns[server] = cycle(self._of_server(server))
        while True:
            yield self._recall(next(self._turns[server]))

    def _mixed(self, server: int, write_every: int) -> "_Requests":
        users = self._of_server(server)
        while True:
            user = self._random.choice(users)
            self._asked += 1
            if not write_every or self._asked % write_every:
                yield self._recall(user)
                continue
            text = f"{self._random.choice(self._questions)} Noted as number {self._asked}."
            body = {"content": text, "kind": "chat_message", "session": "load"}
            yield "write", request("POST", "/v1/records", self._key, body, user=user)

    def _recall(self, user: str) -> "_Request":
        body = {"query": self._random.choice(self._questions), "enable_rerank": self._amounts.rerank}
        return "recall", request("POST", "/v1/records/recall", self._key, body, user=user)

    def _of_server(self, server: int) -> Sequence[str]:
        return self._users[server % len(self._users) :: len(self._ports)] or self._users


_Request = tuple[str, bytes]
_Requests = Iterator[_Request]


class _Asking:
    """One connection, what is asked on it next, and since when an answer is waited for."""

    def __init__(self, port: int, requests: _Requests) -> None:
        self._requests = requests
        self._kind = ""
        self._since = 0.0
        self.connection = LoadConnection(port, self._encoded())

    def _encoded(self) -> Iterator[bytes]:
        for kind, encoded in self._requests:
            self._kind = kind
            yield encoded

    def send(self) -> None:
        self._since = time.perf_counter()
        self.connection.send()

    def note(self, tally: _Tally, status: bytes) -> None:
        tally.seconds.setdefault(self._kind, []).append(time.perf_counter() - self._since)
        if not status.startswith(b"2"):
            tally.errors[f"{self._kind} {status.decode()}"] += 1


def _median(tally: _Tally, kind: str) -> float:
    return milliseconds(tally.seconds[kind], 50)
