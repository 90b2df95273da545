"""A file that was damaged, removed or replaced under an open store is noticed, and nothing more is written to it."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import StoreCorrupt, StoreUnavailable
from memorist.memories.values import Draft
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from tests.http.conftest import serving

ADA = Principal("local", Role.USER, "ada")


def settings(folder: Path) -> Settings:
    return Settings(data=folder, embedder="off", reranker="off", judge_model="", extractor="off", port=0)


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Core]:
    core = open_core(settings(tmp_path), background=False)
    core.identity.create_tenant("local")
    core.memories.remember(ADA, [Draft(f"Memory {number} {'word ' * 50}") for number in range(400)])
    yield core
    core.close()


def damage(file: Path) -> None:
    """Overwrite pages in the middle, as a bad disk does."""
    with open(file, "r+b") as opened:
        pages = file.stat().st_size // 4096
        for page in range(pages * 2 // 3, pages * 2 // 3 + 20):
            opened.seek(page * 4096)
            opened.write(random.Random(page).randbytes(4096))


def test_sound_file_is_left_alone(core: Core) -> None:
    assert core.store.examine(10) == ""
    core.store.ping()
    core.memories.remember(ADA, [Draft("Still written.")])


def test_look_that_has_no_time_finds_nothing(core: Core) -> None:
    core.store.checkpoint()
    damage(Path(core.store.describe()["place"]))  # type: ignore[arg-type]
    assert core.store.examine(0) == ""


def test_damaged_file_takes_no_writes_and_says_what_to_do(core: Core, tmp_path: Path) -> None:
    core.store.checkpoint()
    damage(tmp_path / "memorist.db")
    assert core.store.examine(10)
    for refused in (core.store.ping, lambda: core.memories.remember(ADA, [Draft("Lost?")])):
        with pytest.raises(StoreCorrupt, match="memorist backup restore"):
            refused()


@pytest.mark.parametrize("ending", ["", "-wal"])
@pytest.mark.parametrize("way", ["removed", "replaced"])
def test_file_that_went_away_takes_no_writes(core: Core, tmp_path: Path, ending: str, way: str) -> None:
    file = tmp_path / f"memorist.db{ending}"
    kept = file.read_bytes()
    file.unlink()
    if way == "replaced":
        spare = tmp_path / "spare"
        spare.write_bytes(kept)
        os.replace(spare, file)
    for refused in (core.store.ping, lambda: core.memories.remember(ADA, [Draft("Lost?")])):
        with pytest.raises(StoreUnavailable, match=way):
            refused()


def test_server_looks_at_its_start_and_is_not_ready(tmp_path: Path) -> None:
    core = open_core(settings(tmp_path), background=False)
    core.identity.create_tenant("local")
    core.memories.remember(ADA, [Draft(f"Memory {number} {'word ' * 50}") for number in range(400)])
    core.store.checkpoint()
    core.close()
    damage(tmp_path / "memorist.db")
    with serving(settings(tmp_path)) as served:
        served.core.examination.start()
        served.core.examination.close()
        answer = httpx2.get(f"{served.url}/readyz")
        assert (answer.status_code, answer.json()["code"]) == (503, "store_corrupt")
        assert "memorist.db" not in answer.text
        assert httpx2.get(f"{served.url}/healthz").status_code == 200


def test_anybody_is_told_that_a_file_went_away_and_not_which(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(settings(tmp_path)) as served:
        assert httpx2.get(f"{served.url}/readyz").status_code == 200
        (tmp_path / "memorist.db").unlink()
        answer = httpx2.get(f"{served.url}/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
    assert "memorist.db" not in answer.text
    assert f"{tmp_path}/memorist.db was removed" in caplog.text
