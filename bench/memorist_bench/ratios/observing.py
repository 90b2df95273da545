"""What watching costs: a server that counts for `/metrics`, and one that also makes traces, against one without both.

All three answer the same requests in turns: `GET` of one memory, which does the least and so shows the most, and a
recall with the local models. As many are traced as a server does by itself, and the spans go to a collector that only
takes them.
"""

import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from memorist_bench.ratios.load import CONNECTIONS
from memorist_bench.ratios.reads import reading_some
from memorist_bench.ratios.results import Results, at_least, fact
from memorist_bench.ratios.sentences import sentence
from memorist_bench.ratios.servers import interleaved, ratios, request, server

_COUNTING, _TRACING = 0.98, 0.95
_ROUNDS = 31
_SECONDS = 0.7
_RECALL_SECONDS = 1.5
_QUESTIONS = 50

_MEMORIST = """
import sys
from memorist.bootstrap import run_server
from memorist.settings_sources import load_settings
any_rate = {"user_rate": 0, "key_rate": 0, "user_at_once": 0}
flags = {"data": sys.argv[1], "port": 0, "metrics": sys.argv[2], "otlp_url": sys.argv[3], **any_rate}
run_server(load_settings(flags, environment={}).settings)
"""
_COLLECTOR = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
"""


def run() -> Results:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as name, ExitStack() as running:
        collector = running.enter_context(server("-c", _COLLECTOR))
        told = {"neither": ("off", ""), "counts": ("local", ""), "traces": ("local", f"http://127.0.0.1:{collector}")}
        reads, recalls, ports = {}, {}, {}
        for one, (metrics, url) in told.items():
            folder = Path(name) / one
            ports[one] = port = running.enter_context(server("-c", _MEMORIST, str(folder), metrics, url))
            key = (folder / "local.key").read_text().strip()
            reads[one] = (port, reading_some(port, key))
            asked = [{"query": sentence(number)} for number in range(_QUESTIONS)]
            recalls[one] = (port, [request("POST", "/v1/tools/recall", key, body) for body in asked])
        results: Results = {}
        # Recalls share the models, so that more of them at once are not answered sooner.
        for what, contenders, seconds, at_once in (
            ("GET a memory", reads, _SECONDS, CONNECTIONS),
            ("recall", recalls, _RECALL_SECONDS, 1),
        ):
            rates = interleaved(contenders, _ROUNDS, seconds, at_once)
            results |= {
                f"{what}: counting / not": at_least(_COUNTING, ratios(rates["counts"], rates["neither"])),
                f"{what}: tracing too / not": at_least(_TRACING, ratios(rates["traces"], rates["neither"])),
                f"{what}: neither": fact(median(rates["neither"]), "answers/s"),
            }
        results["reading /metrics"] = fact(median(_scrapes(ports["counts"])), "ms")
    return results


def _scrapes(port: int) -> list[float]:
    taken = []
    for _ in range(9):
        started = time.perf_counter()
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read()
        taken.append(1000 * (time.perf_counter() - started))
    return taken
