"""Searching the files leaves the database's locks alone: without them, another process would take the log away."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memorist import Memorist
from memorist.bootstrap import open_core
from memorist.memories.values import Draft
from memorist.platform.values import Principal, Role
from memorist.settings import Settings

ADA = Principal("local", Role.USER, "ada")


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this system does not tell which locks are held")
def test_searching_the_files_keeps_the_locks(tmp_path: Path) -> None:
    core = open_core(Settings(data=tmp_path, embedder="off", reranker="off"))
    core.identity.create_tenant("local")
    core.memories.remember(ADA, [Draft("one")])
    before = _locks()
    core.store.search_files([b"a piece that is nowhere"])
    assert _locks() == before != set()
    core.close()


def test_another_process_does_not_take_the_log_away_after_an_erasure(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, embedder="off", reranker="off")
    core = open_core(settings)
    core.identity.create_tenant("local")
    (gone,) = core.memories.remember(ADA, [Draft("to be erased")])
    core.erasure.erase(ADA, [gone.memory.id])
    command = [sys.executable, "-m", "memorist", "list", "--data", str(tmp_path), "--user", "ada"]
    subprocess.run(command, check=True, capture_output=True)
    (kept,) = core.memories.remember(ADA, [Draft("written after another process looked")])
    # As another process sees it now, and not only when this one has closed its files in order.
    with Memorist.open(tmp_path) as other:
        assert other.user("ada").get(kept.memory.id).content == "written after another process looked"
    core.close()


def _locks() -> set[tuple[str, ...]]:
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return {tuple(line[1:4] + line[5:]) for line in lines if line[4] == str(os.getpid())}
