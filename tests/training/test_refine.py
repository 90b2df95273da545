"""Training the shipped models on: a mean of what they were and what they became. It needs torch (test_chain.py)."""

import json
import lzma
import os
from dataclasses import replace
from pathlib import Path

import pytest

if os.environ.get("MEMORIST_TRAINING_TESTS") == "1":
    import torch
else:
    torch = pytest.importorskip("torch", reason="training needs torch: pip install -r training/requirements.txt")

from training import refine
from training.encoder import load_trained

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]

THINGS = ("piano", "garden", "bicycle", "camera")


@pytest.mark.parametrize("name", ["embedder", "reranker"])
def test_shipped_model_is_trained_on(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [["Ada", "8 May 2023", 0, f"I bought a {thing} in town."] for thing in THINGS]
    questions = [[f"When did Ada get a {thing}?", [number]] for number, thing in enumerate(THINGS)]
    data = tmp_path / "all.json.xz"
    with lzma.open(data, "wt", encoding="utf-8") as file:
        json.dump([{"s": "talk", "m": messages, "q": questions}] * 2, file)
    small = replace(refine.REFINED[name], questions=2, same=1, anywhere=1, neighbours=1, random=1, mine_again=())
    monkeypatch.setitem(refine.REFINED, name, small)
    arguments = [name, "--data", str(data), "--out", str(tmp_path), "--steps", "2", "--share", "0.5"]
    monkeypatch.setattr("sys.argv", ["refine", *arguments])
    refine.main()
    before, kept = refine.shipped(name), refine.shipped(name)
    load_trained(kept, tmp_path, name)
    changed = [not torch.equal(one, other) for one, other in zip(before.parameters(), kept.parameters(), strict=True)]
    assert any(changed)


def test_mean_of_two_models_is_between_them() -> None:
    one, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    found = refine.between(one, other, 0.25)
    assert torch.allclose(found.weight, 0.75 * one.weight + 0.25 * other.weight)
