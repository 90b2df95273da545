"""What Memorist adds to the first word of an answer, against asking the same language model directly.

A server on loopback plays the model. Memorist has its embedder, reranker and local extractor on, as it comes, and the
user whose turns these are has all the memories.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from memorist.bootstrap import open_core
from memorist.context.companion import Category
from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Kind
from memorist.platform.values import Principal, Role
from memorist.settings_sources import load_settings
from memorist_bench.ratios import talking_llm
from memorist_bench.ratios.results import Results, at_most, fact
from memorist_bench.ratios.sentences import sentence

_TARGET_MS = 60.0
_SINGLES = 60
_AT_ONCE = 50
_ROUNDS = 2
_RECALLS = 15
_ENTRIES_SHARE = 5
"""One memory of so many is an entry of the companion; the others were said in conversations."""
_BATCH = 200
_TURNS_OF_A_SESSION = 20
_ANSWER_TIMEOUT_S = 120.0

_MEMORIST = """
import sys
from memorist.bootstrap import run_server
from memorist.settings_sources import load_settings
flags = {"data": sys.argv[1], "port": 0, "llm": "openai:bench", "llm_url": sys.argv[2], "extractor": "local"}
run_server(load_settings(flags, environment={}).settings)
"""


@dataclass(frozen=True, slots=True)
class _Timed:
    """When the first word and when the end came, in milliseconds after the request."""

    first_ms: float
    whole_ms: float


Ask = Callable[[str], Coroutine[Any, Any, _Timed]]


def run(memories: int = 10_000) -> Results:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-", ignore_cleanup_errors=True) as folder, ExitStack() as up:
        _fill(folder, memories)
        llm = up.enter_context(_server("-m", "memorist_bench.ratios.talking_llm"))
        memorist = up.enter_context(_server("-c", _MEMORIST, folder, f"http://127.0.0.1:{llm}/v1"))
        key = (Path(folder) / "local.key").read_text().strip()
        return asyncio.run(_measure(_Direct(llm).ask, _Through(memorist, key).ask, memories))


async def _measure(direct: Ask, through: Ask, memories: int) -> Results:
    for number in range(5):  # Loads the models and the index.
        await _both(direct, through, f"{talking_llm.RECALL}{sentence(number)}")
    single = [await _both(direct, through, sentence(number)) for number in range(_SINGLES)]
    recalling = [await _both(direct, through, f"{talking_llm.RECALL}{sentence(n)}") for n in range(_RECALLS)]
    staggered: list[tuple[_Timed, _Timed]] = []
    at_once: list[tuple[_Timed, _Timed]] = []
    for number in range(_ROUNDS):
        # As many turns run at a time, begun one after the other while each is answered, or all in the same moment.
        staggered += await _crowd(direct, through, number, apart_s=talking_llm.answer_s() / _AT_ONCE)
        at_once += await _crowd(direct, through, number, apart_s=0.0)
    return {
        "single turns, added to the first word, p95": at_most(_TARGET_MS, [_p95(_added(single))], "ms"),
        "single turns, added to the first word, p50": fact(median(_added(single)), "ms"),
        f"{_AT_ONCE} turns running, added to the first word, p95": at_most(_TARGET_MS, [_p95(_added(staggered))], "ms"),
        f"{_AT_ONCE} turns running, added to the first word, p50": fact(median(_added(staggered)), "ms"),
        f"{_AT_ONCE} turns begun at once, added to the first word, p95": fact(_p95(_added(at_once)), "ms"),
        f"{_AT_ONCE} turns begun at once, added to the first word, p50": fact(median(_added(at_once)), "ms"),
        "turns whose model recalls first, added to the first word, p50": fact(median(_added(recalling)), "ms"),
        "first word without Memorist, single, p50": fact(median(one.first_ms for one, _ in single), "ms"),
        "turns completed": fact(len(single) + len(recalling) + len(staggered) + len(at_once), ""),
        "memories of the user": fact(memories, ""),
    }


async def _both(direct: Ask, through: Ask, question: str) -> tuple[_Timed, _Timed]:
    if not question.startswith(talking_llm.RECALL):
        return await direct(question), await through(question)
    # A model that recalls is asked twice: for the question it has, and for the answer.
    asked, answered = await direct(question), await direct(question.removeprefix(talking_llm.RECALL))
    return _Timed(asked.whole_ms + answered.first_ms, asked.whole_ms + answered.whole_ms), await through(question)


async def _crowd(direct: Ask, through: Ask, round_: int, *, apart_s: float) -> list[tuple[_Timed, _Timed]]:
    async def later(ask: Ask, number: int) -> _Timed:
        await asyncio.sleep(number * apart_s)
        return await ask(f"{talking_llm.AT_LENGTH}{sentence(_AT_ONCE * round_ + number)}")

    bare = await asyncio.gather(*(later(direct, number) for number in range(_AT_ONCE)))
    told = await asyncio.gather(*(later(through, number) for number in range(_AT_ONCE)))
    return list(zip(bare, told, strict=True))


def _added(pairs: list[tuple[_Timed, _Timed]]) -> list[float]:
    return [through.first_ms - direct.first_ms for direct, through in pairs]


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]


# Asking


class _Direct:
    """A client of the language model itself."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def ask(self, question: str) -> _Timed:
        recalls = question.startswith(talking_llm.RECALL)
        body = {"model": "bench", "stream": True, "messages": [{"role": "user", "content": question}]}
        tools: dict[str, Any] = {"tools": [{}]} if recalls else {}
        is_first = _is_tool_call if recalls else talking_llm.is_first_answer
        return await _ask(self._port, "/v1/chat/completions", {}, body | tools, is_first, b"0\r\n")


class _Through:
    """The same question as a turn of Memorist, as events."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._headers = {"authorization": f"Bearer {key}", "accept": "text/event-stream"}

    async def ask(self, question: str) -> _Timed:
        body = {"messages": [{"role": "user", "content": question}]}
        return await _ask(self._port, "/v1/turns", self._headers, body, _is_delta, b"event: turn.completed")


def _is_tool_call(line: bytes) -> bool:
    return b'"tool_calls": [{' in line


def _is_delta(line: bytes) -> bool:
    return line.startswith(b"event: answer.delta")


async def _ask(
    port: int, path: str, headers: dict[str, str], body: Any, is_first: Callable[[bytes], bool], last: bytes
) -> _Timed:
    content = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "host: 127.0.0.1", "content-type: application/json", "connection: close"]
    lines += [f"content-length: {len(content)}", *(f"{name}: {value}" for name, value in headers.items())]
    started = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    first = 0.0
    try:
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
        async with asyncio.timeout(_ANSWER_TIMEOUT_S):
            while line := await reader.readline():
                if line.startswith(b"event: turn.failed"):
                    raise RuntimeError(f"a turn failed: {await reader.readline()!r}")
                if not first and is_first(line):
                    first = time.perf_counter()
                if line.startswith(last):
                    break
    finally:
        writer.close()
    if not first:
        raise RuntimeError("an answer ended without a word")
    return _Timed((first - started) * 1000, (time.perf_counter() - started) * 1000)


# What is needed for it


def _fill(folder: str, memories: int) -> None:
    settings = load_settings({"data": folder}, environment={}).settings
    core = open_core(settings)
    try:
        core.identity.create_tenant(settings.tenant)
        user = Principal(settings.tenant, Role.USER, settings.user, source="benchmark")
        entries = memories // _ENTRIES_SHARE
        categories = list(Category)
        for start in range(0, entries, _BATCH):
            numbers = range(start, min(start + _BATCH, entries))
            drafts = [Draft(sentence(n), Kind.FACT, category=categories[n % len(categories)]) for n in numbers]
            core.memories.remember(user, drafts)
        for start in range(entries, memories, _TURNS_OF_A_SESSION):
            numbers = range(start, min(start + _TURNS_OF_A_SESSION, memories))
            said = [Message("user", sentence(n)) for n in numbers]
            core.ingestion.add_messages(user, f"s{start}", said, extract=False)
        for _ in core.indexer.finish(settings.tenant):
            pass
    finally:
        core.close()


@contextmanager
def _server(*arguments: str) -> Iterator[int]:
    """A Python process that serves until we are done. Gives the port, which it says on its first line."""
    command = [sys.executable, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        first_line = process.stdout.readline()
        _, found, rest = first_line.partition("http://127.0.0.1:")
        if not found:
            raise RuntimeError(f"the server did not start; it said {first_line!r}")
        yield int(rest.split("/")[0].split()[0])
    finally:
        process.terminate()
        process.wait()
