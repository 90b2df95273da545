"""Ways to find the nearest vectors are compared with what is right, and what is not installed is named."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from memorist_bench import neighbours

SIZE = 384
FIGURES = {"build_s", "ms_p50", "ms_p95", "recall_at_10"}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A pool that lies about some subjects, and questions near a few of it."""
    chance = np.random.default_rng(1)
    subjects = chance.standard_normal((20, SIZE))
    pool = _units(subjects[chance.integers(20, size=300)] + 0.7 * chance.standard_normal((300, SIZE)))
    asked = _units(pool[:20] + 0.01 * chance.standard_normal((20, SIZE)))
    found = {"pool": tmp_path / "given.npy", "questions": tmp_path / "asked.npy"}
    np.save(found["pool"], pool)
    np.save(found["questions"], asked)
    return found


def _units(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_each_way_is_built_asked_and_judged(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--pool", files["pool"], "--questions-file", files["questions"], "--save-pool", tmp_path / "kept"]
    rest = ["--vectors", 2000, "--questions", 10, "--no-postgres"]
    monkeypatch.setattr("sys.argv", ["neighbours", *map(str, [*given, *rest])])
    neighbours.main()
    result = json.loads(capsys.readouterr().out)
    assert (result["vectors"], result["questions"], result["pool"]) == (2000, 10, 300)
    ways = result["ways"]
    graphs = {"usearch_64", "usearch_128"} if "usearch" not in result["missing"] else set()
    assert set(ways) == {"all", "lists_160", "lists_320"} | graphs
    assert all(figures.keys() >= FIGURES for figures in ways.values())
    assert ways["all"]["recall_at_10"] > 0.95
    assert ways["lists_160"]["recall_at_10"] > 0.5
    assert SIZE < ways["all"]["memory_bytes_per_vector"] < 2 * SIZE
    assert ways["lists_160"]["memory_bytes_per_vector"] < SIZE < ways["lists_160"]["disk_bytes_per_vector"]
    assert np.array_equal(np.load(tmp_path / "kept" / "pool.npy"), np.load(files["pool"]))
    assert len(np.load(tmp_path / "kept" / "questions.npy")) == 10


def test_what_is_not_installed_is_named(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("usearch.index", "psycopg"):
        monkeypatch.setitem(sys.modules, name, None)
    result = neighbours.measure(300, np.load(files["pool"]), np.load(files["questions"])[:2])
    assert set(result["missing"]) == {"usearch", "pgvector"}
    assert set(result["ways"]) == {"all", "lists_160", "lists_320"}


def test_vectors_are_the_same_each_time_and_of_length_one(files: dict[str, Path]) -> None:
    pool = np.load(files["pool"])
    made = neighbours.synthetic(5100, pool)
    assert np.array_equal(made, neighbours.synthetic(5100, pool))
    assert np.linalg.norm(made, axis=1) == pytest.approx(np.ones(5100), abs=1e-5)
