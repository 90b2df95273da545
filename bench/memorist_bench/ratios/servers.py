"""Servers in processes of their own, asked in turns, so that what disturbs one of them disturbs the others as well."""

import json
import multiprocessing
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from memorist_bench.ratios.load import CONNECTIONS, burst


@contextmanager
def server(*arguments: str) -> Iterator[int]:
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


def interleaved(
    contenders: Mapping[str, tuple[int, Sequence[bytes]]], rounds: int, seconds: float, at_once: int = CONNECTIONS
) -> dict[str, list[float]]:
    """Answers a second of each contender in each round, which take turns at who goes first. The load comes from a
    process of its own."""
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as load:
        for round_number in range(rounds + 1):
            order = order[1:] + order[:1]
            for name in order:
                rate = load.submit(burst, *contenders[name], seconds, at_once).result()
                if round_number > 0:  # The first one warms up.
                    rates[name].append(rate)
    return rates


def ratios(rates: Sequence[float], of: Sequence[float]) -> list[float]:
    return [rate / other for rate, other in zip(rates, of, strict=True)]


def post(port: int, path: str, key: str, body: Mapping[str, Any]) -> Any:
    """What the server answers."""
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        json.dumps(body).encode(),
        {"authorization": f"Bearer {key}", "content-type": "application/json"},
    )
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)


def request(
    method: str, path: str, key: str, body: Mapping[str, Any] | None = None, *, user: str | None = None
) -> bytes:
    """A request as it is sent, for a user where one is named."""
    content = b"" if body is None else json.dumps(body).encode()
    told = f"content-type: application/json\r\ncontent-length: {len(content)}\r\n" if content else ""
    told += f"x-memorist-user: {user}\r\n" if user else ""
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\nauthorization: Bearer {key}\r\n{told}\r\n"
    return head.encode() + content
