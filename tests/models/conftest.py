from pathlib import Path
from shutil import copytree

import pytest

from memorist.models.embedder import LocalEmbedder
from memorist.models.files import FOLDER
from memorist.models.reranker import LocalReranker


@pytest.fixture(scope="session")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture(scope="session")
def reranker() -> LocalReranker:
    return LocalReranker()


@pytest.fixture
def copied_weights(tmp_path: Path) -> Path:
    return copytree(FOLDER, tmp_path / "weights")
