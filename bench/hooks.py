"""How long a coding assistant waits for its hooks, each a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.results import Results, at_most, fact

_MOST_MS = 300
_RUNS = 9
_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")


def run() -> Results:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        memorist = str(Path(sys.executable).with_name("memorist"))
        environment = {**os.environ, "MEMORIST_DATA": str(folder / "data"), "MEMORIST_EMBEDDER": "off"}
        note = ["remember", "Orders are in PostgreSQL.", "--category", "decision", "--name", "orders"]
        subprocess.run([memorist, *note], env=environment, check=True, capture_output=True)
        results: Results = {}
        shown = 0
        for event in _EVENTS:
            took = []
            for number in range(_RUNS + 1):
                transcript = folder / f"{event}-{number}.jsonl"
                line = {"type": "user", "uuid": f"{number}", "message": {"role": "user", "content": "Hello."}}
                transcript.write_text(json.dumps(line) + "\n")
                told = {"session_id": transcript.stem, "transcript_path": str(transcript), "cwd": "/shop"}
                started = time.perf_counter()
                done = subprocess.run(
                    [memorist, "hook", "claude-code", event],
                    input=json.dumps(told).encode(),
                    env=environment,
                    check=True,
                    capture_output=True,
                )
                if number > 0:  # The first one fills the disk's cache.
                    took.append((time.perf_counter() - started) * 1000)
                    shown += b"additionalContext" in done.stdout
                _let_finish(folder / "data/claude-code")
            results[f"`memorist hook claude-code {event}`"] = at_most(_MOST_MS, took, "ms")
        results["sessions whose context was there at once"] = fact(shown / _RUNS * 100, "%")
        plain = []
        for _ in range(_RUNS):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", "pass"], check=True)
            plain.append((time.perf_counter() - started) * 1000)
        results["`python -c pass`"] = fact(median(plain), "ms")
    return results


def _let_finish(folder: Path) -> None:
    """What a hook left to the background is not to slow down the next one."""
    before = None
    while True:
        now = {path.name: path.stat().st_mtime_ns for path in folder.glob("*") if path.exists()}
        if now == before:
            return
        before = now
        time.sleep(0.5)
