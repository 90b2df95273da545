"""GET of one memory over HTTP on 16 connections, against an empty FastAPI handler behind the same server."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from memorist_bench.ratios.load import CONNECTIONS
from memorist_bench.ratios.results import Results, at_least, fact
from memorist_bench.ratios.sentences import sentence
from memorist_bench.ratios.servers import interleaved, post, ratios, request, server

_TARGET = 0.6
_ROUNDS = 15
_SECONDS = 0.7
_MEMORIES = 100

_MEMORIST = """
import sys
from memorist.bootstrap import run_server
from memorist.settings_sources import load_settings
# One user may not ask for as much as is measured here.
any_rate = {"user_rate": 0, "key_rate": 0}
run_server(load_settings({"data": sys.argv[1], "port": 0, "embedder": "off", **any_rate}, environment={}).settings)
"""
_EMPTY_REQUEST = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\n\r\n"


def run() -> Results:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as folder, ExitStack() as running:
        memorist = running.enter_context(server("-c", _MEMORIST, folder))
        plain = running.enter_context(server("-m", "memorist_bench.ratios.empty_server", "def"))
        awaiting = running.enter_context(server("-m", "memorist_bench.ratios.empty_server", "async"))
        contenders = {
            "memorist": (memorist, reading_some(memorist, (Path(folder) / "local.key").read_text().strip())),
            "def": (plain, [_EMPTY_REQUEST]),
            "async": (awaiting, [_EMPTY_REQUEST]),
        }
        rates = interleaved(contenders, _ROUNDS, _SECONDS)
    return {
        "GET a memory / empty `def` handler": at_least(_TARGET, ratios(rates["memorist"], rates["def"])),
        "GET a memory / empty `async def` handler": fact(median(ratios(rates["memorist"], rates["async"])), "x"),
        "GET a memory": fact(median(rates["memorist"]), "answers/s"),
        "empty `def` handler": fact(median(rates["def"]), "answers/s"),
        "empty `async def` handler": fact(median(rates["async"]), "answers/s"),
        "connections": fact(CONNECTIONS, ""),
    }


def reading_some(port: int, key: str) -> list[bytes]:
    """Store memories, and return the requests that read each of them."""
    requests = []
    for number in range(_MEMORIES):
        body = {"type": "project", "name": f"note-{number}", "description": "A note.", "body": sentence(number)}
        requests.append(request("GET", f"/v1/memories/{post(port, '/v1/memories', key, body)['id']}", key))
    return requests
