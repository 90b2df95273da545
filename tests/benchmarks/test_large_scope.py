"""What is promised of one user with more than 200,000 memories. `make large` runs it with a million: a quarter of an
hour, and 4 GB of disk.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memorist.bootstrap import open_core
from memorist.settings import Settings
from memorist_bench.speed import measure_speed

MEMORIES = int(os.environ.get("MEMORIST_LARGE_SCOPE", "0"))
FEW = 2_760
"""As many as a long conversation has: what a process takes in any case."""

LEAST_SAME = 0.99
MOST_MEGABYTES = 350
MOST_SECONDS = 3.0

pytestmark = [
    pytest.mark.skipif(not MEMORIES, reason="takes a quarter of an hour: make large"),
    pytest.mark.timeout(7200),
]


def measured(folder: Path, memories: int, questions: int) -> dict[str, Any]:
    settings = Settings(database=str(folder / f"{memories}.db"))
    core = open_core(settings)
    try:
        core.identity.create_tenant("t")
        return measure_speed(
            core, settings, "t", "run", memories=memories, users=1, questions=questions, report=lambda *_: None
        )
    finally:
        core.close()


def test_very_many_memories_of_one_user_are_found_soon_and_take_little_memory(tmp_path: Path) -> None:
    few, many = measured(tmp_path, FEW, 4), measured(tmp_path, MEMORIES, 100)
    print(json.dumps([few, many], indent=2))
    assert many["first_ten_same"] >= LEAST_SAME
    assert many["rss_mb"] - few["rss_mb"] <= MOST_MEGABYTES
    assert many["cold_recall_s"] <= MOST_SECONDS
