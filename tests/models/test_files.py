"""A damaged or missing file of the models is refused by name, never used."""

import json
from pathlib import Path

import pytest

from memorist.errors import WeightsDamaged
from memorist.models.embedder import LocalEmbedder
from memorist.models.files import FOLDER, MANIFEST, read_weights
from memorist.models.reranker import LocalReranker

MIB = 1024 * 1024


def test_every_file_is_in_the_manifest_and_whole() -> None:
    listed = json.loads((FOLDER / MANIFEST).read_text())
    binaries = {path.name for path in FOLDER.iterdir() if path.suffix in {".onnx", ".npy", ".json"}} - {MANIFEST}
    assert set(listed) == binaries
    for name in listed:
        assert read_weights(name)


def test_weights_stay_small() -> None:
    sizes = [path.stat().st_size for path in FOLDER.iterdir()]
    assert sum(sizes) <= 116 * MIB
    assert max(sizes) < 40 * MIB


@pytest.mark.parametrize("name", ["embedder.onnx", "word_rows.npy", "word_scales.npy", "tokenizer.json"])
def test_one_flipped_bit_is_refused(copied_weights: Path, name: str) -> None:
    content = bytearray((copied_weights / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copied_weights / name).write_bytes(content)
    with pytest.raises(WeightsDamaged, match=name):
        LocalEmbedder(folder=copied_weights).embed(["hello"])


def test_a_missing_file_is_refused(copied_weights: Path) -> None:
    (copied_weights / "reranker.onnx").unlink()
    with pytest.raises(WeightsDamaged, match=r"reranker\.onnx"):
        LocalReranker(folder=copied_weights).score("hello", ["you"])


def test_a_damaged_manifest_is_refused(copied_weights: Path) -> None:
    (copied_weights / MANIFEST).write_text("[]")
    with pytest.raises(WeightsDamaged):
        LocalReranker(folder=copied_weights).load()


def test_a_failed_load_can_be_repaired(copied_weights: Path) -> None:
    """The failure is not remembered: with the file back, the same model works."""
    model = LocalReranker(folder=copied_weights)
    content = (copied_weights / "reranker.onnx").read_bytes()
    (copied_weights / "reranker.onnx").write_bytes(b"")
    with pytest.raises(WeightsDamaged):
        model.load()
    (copied_weights / "reranker.onnx").write_bytes(content)
    assert len(model.score("hello", ["you"])) == 1
