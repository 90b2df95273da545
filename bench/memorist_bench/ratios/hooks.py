"""How long a coding assistant waits for its hooks, each a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from memorist_bench.ratios.results import Results, at_most, fact

_MOST_MS = 300
_RUNS = 9
_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")


@dataclass(frozen=True, slots=True)
class _Run:
    output: bytes
    wall_ms: float
    cpu_ms: float
    """Of the process that was waited for; what it leaves to the background is not in it."""


def run() -> Results:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        memorist = str(Path(sys.executable).with_name("memorist"))
        environment = _as_installed(folder)
        note = ["remember", "Orders are in PostgreSQL.", "--category", "decision", "--name", "orders"]
        subprocess.run([memorist, *note], env=environment, check=True, capture_output=True)
        results: Results = {}
        shown = 0
        plain = [_timed([sys.executable, "-c", "pass"], b"", environment) for _ in range(_RUNS)]
        plain_cpu = median(one.cpu_ms for one in plain)
        for event in _EVENTS:
            taken = []
            for number in range(_RUNS + 1):
                transcript = folder / f"{event}-{number}.jsonl"
                line = {"type": "user", "uuid": f"{number}", "message": {"role": "user", "content": "Hello."}}
                transcript.write_text(json.dumps(line) + "\n")
                told = {"session_id": transcript.stem, "transcript_path": str(transcript), "cwd": "/shop"}
                command = [memorist, "hook", "claude-code", event]
                taken.append(_timed(command, json.dumps(told).encode(), environment))
                _let_finish(folder / "data/claude-code")
            del taken[0]  # It filled the disk's cache, and wrote the bytecode.
            shown += sum(b"additionalContext" in one.output for one in taken)
            hook = f"`memorist hook claude-code {event}`"
            results[hook] = at_most(_MOST_MS, [one.wall_ms for one in taken], "ms")
            results[f"{hook}, CPU time / `python -c pass`"] = fact(median(one.cpu_ms for one in taken) / plain_cpu, "x")
        results["sessions whose context was there at once"] = fact(shown / _RUNS * 100, "%")
        results["`python -c pass`"] = fact(median(one.wall_ms for one in plain), "ms")
        results["`python -c pass`, CPU time"] = fact(plain_cpu, "ms")
    return results


def _as_installed(folder: Path) -> dict[str, str]:
    """An installed package has its bytecode; a checkout may be told to write none."""
    environment = {
        **os.environ,
        "MEMORIST_DATA": str(folder / "data"),
        "MEMORIST_EMBEDDER": "off",
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _timed(command: list[str], given: bytes, environment: dict[str, str]) -> _Run:
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(given)
    process.stdin.close()
    output = process.stdout.read()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    return _Run(output, wall * 1000, (used.ru_utime + used.ru_stime) * 1000)


def _let_finish(folder: Path) -> None:
    """What a hook left to the background is not to slow down the next one."""
    before = None
    while True:
        now = {path.name: path.stat().st_mtime_ns for path in folder.glob("*") if path.exists()}
        if now == before:
            return
        before = now
        time.sleep(0.5)  # noqa: TID251
