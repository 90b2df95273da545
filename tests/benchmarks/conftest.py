"""Benchmark files on disk."""

import json
from pathlib import Path

import pytest

from tests.benchmarks.files import LOCOMO, LONGMEMEVAL, NORMALIZED


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The same small benchmark in each format, by the format's name."""
    contents = {"normalized": NORMALIZED, "locomo10": LOCOMO, "longmemeval_s": LONGMEMEVAL}
    paths = {name: tmp_path / f"{name}.json" for name in contents}
    for name, path in paths.items():
        path.write_text(json.dumps(contents[name]), "utf-8")
    return paths
