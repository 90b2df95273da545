"""GET of one memory over HTTP on 16 connections, against an empty FastAPI handler behind the same server."""

import json
import multiprocessing
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from memorist_bench.ratios.load import CONNECTIONS, burst
from memorist_bench.ratios.results import Results, at_least, fact
from memorist_bench.ratios.sentences import sentence

_TARGET = 0.6
_ROUNDS = 15
_SECONDS = 0.7
_MEMORIES = 100

_MEMORIST = """
import sys
from memorist.bootstrap import run_server
from memorist.settings import load_settings
# One user may not ask for as much as is measured here.
any_rate = {"user_rate": 0, "key_rate": 0}
run_server(load_settings({"data": sys.argv[1], "port": 0, "embedder": "off", **any_rate}, environment={}).settings)
"""
_EMPTY_REQUEST = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\n\r\n"


def run() -> Results:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as folder, ExitStack() as running:
        memorist = running.enter_context(_server("-c", _MEMORIST, folder))
        plain = running.enter_context(_server("-m", "memorist_bench.ratios.empty_server", "def"))
        awaiting = running.enter_context(_server("-m", "memorist_bench.ratios.empty_server", "async"))
        contenders = {
            "memorist": (memorist, _remember_some(memorist, (Path(folder) / "local.key").read_text().strip())),
            "def": (plain, [_EMPTY_REQUEST]),
            "async": (awaiting, [_EMPTY_REQUEST]),
        }
        rates = _interleaved(contenders)
    return {
        "GET a memory / empty `def` handler": at_least(_TARGET, _ratios(rates["memorist"], rates["def"])),
        "GET a memory / empty `async def` handler": fact(median(_ratios(rates["memorist"], rates["async"])), "x"),
        "GET a memory": fact(median(rates["memorist"]), "answers/s"),
        "empty `def` handler": fact(median(rates["def"]), "answers/s"),
        "empty `async def` handler": fact(median(rates["async"]), "answers/s"),
        "connections": fact(CONNECTIONS, ""),
    }


def _interleaved(contenders: dict[str, tuple[int, list[bytes]]]) -> dict[str, list[float]]:
    """Answers a second of each contender in each round. The load comes from a process of its own."""
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as load:
        for round_number in range(_ROUNDS + 1):
            for name, (port, requests) in contenders.items():
                rate = load.submit(burst, port, requests, _SECONDS).result()
                if round_number > 0:  # The first one warms up.
                    rates[name].append(rate)
    return rates


def _ratios(rates: list[float], of: list[float]) -> list[float]:
    return [rate / other for rate, other in zip(rates, of, strict=True)]


@contextmanager
def _server(*arguments: str) -> Iterator[int]:
    """A Python process that serves until we are done. Gives the port, which it says on its first line."""
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        first_line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:(\d+)", first_line)
        if address is None:
            raise RuntimeError(f"the server did not start; it said {first_line!r}")
        yield int(address[1])
    finally:
        process.terminate()
        process.wait()


def _remember_some(port: int, key: str) -> list[bytes]:
    """Store memories, and return the requests that read each of them."""
    requests = []
    for number in range(_MEMORIES):
        body = {"type": "project", "name": f"note-{number}", "description": "A note.", "body": sentence(number)}
        post = urllib.request.Request(
            f"http://127.0.0.1:{port}/v1/memories",
            json.dumps(body).encode(),
            {"authorization": f"Bearer {key}", "content-type": "application/json"},
        )
        with urllib.request.urlopen(post) as answer:
            memory_id = json.load(answer)["id"]
        requests.append(
            f"GET /v1/memories/{memory_id} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\n"
            f"authorization: Bearer {key}\r\n\r\n".encode()
        )
    return requests
