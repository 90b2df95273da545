"""The arithmetic that is shipped: what is taught is what the graph computes, whatever else is in the batch.

Needs torch, as tests/training/test_chain.py says.
"""

import os
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

if os.environ.get("MEMORIST_TRAINING_TESTS") == "1":
    import torch
else:
    torch = pytest.importorskip("torch", reason="training needs torch: pip install -r training/requirements.txt")

from memorist.models.files import FOLDER
from training.data import Conversation, Message, Question
from training.encoder import EmbeddingModel, save_trained
from training.quantize import Recipe, quantize, taught
from training.rounding import LARGEST_WEIGHT, RoundedLinear
from training.shipped import load_shipped

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]


def told() -> list[Conversation]:
    things = ["piano", "garden", "bicycle", "camera", "novel", "puppy", "kitchen", "violin"]
    said = [
        Message("Ada", f"{day} May 2023", "1", f"I bought a {thing} in town.") for day, thing in enumerate(things, 1)
    ]
    return [Conversation("synth", said, [Question("When did Ada get a garden?", (1,))])]


@pytest.fixture(scope="module")
def shipped_in_full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained parts: the shipped embedder, with what rounding left of it."""
    model, folder = EmbeddingModel(), tmp_path_factory.mktemp("trained")
    load_shipped(model.encoder)
    save_trained(model, folder, "embedder")
    return folder


def test_the_graph_computes_what_was_taught_in_any_company(shipped_in_full: Path, tmp_path: Path) -> None:
    model = quantize("embedder", told(), shipped_in_full, tmp_path, Recipe(steps=2, tokens=256))
    network = onnxruntime.InferenceSession(tmp_path / "embedder.onnx", providers=["CPUExecutionProvider"])
    ids = torch.randint(1000, 20_000, (3, 24), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(3, 24, dtype=torch.bool)
    words = (model.encoder.word_rows[ids].float() * model.encoder.word_scales[ids].unsqueeze(-1)).numpy()
    found = network.run(None, {"words": words, "mask": mask.int().numpy()})[0]
    with torch.no_grad():
        wanted = model(ids, mask).numpy()
    assert ((found * wanted).sum(1) > 0.99).all()
    alone = network.run(None, {"words": words[:1], "mask": mask[:1].int().numpy()})[0]
    # Whole numbers are summed alike in any order; only the mean of a passage's tokens is rounded as it is grouped.
    assert np.abs(alone[0] - found[0]).max() < 1e-7


def test_what_was_written_is_read_again(shipped_in_full: Path, tmp_path: Path) -> None:
    model = quantize("embedder", told(), shipped_in_full, tmp_path, Recipe(steps=1, tokens=256))
    again = taught("embedder", tmp_path)
    ids, mask = torch.tensor([[101, 2054, 2003, 102]]), torch.ones(1, 4, dtype=torch.bool)
    with torch.no_grad():
        assert float((model(ids, mask) * again(ids, mask)).sum()) > 0.99


def test_shipped_weights_are_read_as_they_compute() -> None:
    model = EmbeddingModel()
    load_shipped(model.encoder)
    model.eval()
    network = onnxruntime.InferenceSession(FOLDER / "embedder.onnx", providers=["CPUExecutionProvider"])
    ids, mask = torch.tensor([[101, 2054, 2003, 1996, 3007, 1997, 2605, 102]]), torch.ones(1, 8, dtype=torch.bool)
    words = (model.encoder.word_rows[ids].float() * model.encoder.word_scales[ids].unsqueeze(-1)).numpy()
    found, _ = network.run(None, {"words": words, "mask": mask.int().numpy()})
    with torch.no_grad():
        assert float((model(ids, mask).numpy() * found).sum()) > 0.99


def test_few_large_inputs_do_not_coarsen_the_others() -> None:
    torch.manual_seed(1)
    linear = torch.nn.Linear(384, 8)
    inputs = torch.randn(64, 384)
    inputs[:, 3] *= 100
    exact = linear(inputs)
    rounded = RoundedLinear(linear)
    rounded.seen = []
    rounded(inputs)
    rounded.take_range()
    assert (rounded.shrunk < 1).sum() == 1
    with torch.no_grad():
        assert float((rounded(inputs) - exact).abs().mean()) < 0.1
        levels = rounded._rounded_weight() / (rounded.weight.abs().amax(1, keepdim=True) / LARGEST_WEIGHT)
    assert np.abs(levels.numpy()).max() <= LARGEST_WEIGHT + 1e-3
