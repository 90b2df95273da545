"""What the embedder can say of tokens: taught on a small conversation, and the same in torch as in its graph.

It needs torch, like the rest of the chain (test_chain.py).
"""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

if os.environ.get("MEMORIST_TRAINING_TESTS") == "1":
    import torch
else:
    torch = pytest.importorskip("torch", reason="training needs torch: pip install -r training/requirements.txt")

import onnx
import onnxruntime
from safetensors.torch import load_file

from memorist.models.embedder import LocalEmbedder
from memorist.models.encoder import _shared
from memorist.models.files import FOLDER
from training import other_tokens, tokens
from training.data import FORMS, Conversation, Message, Question
from training.mining import mine
from training.sampling import Sampler
from training.tables import build_tables
from training.torch_models import TOKENIZER, _tokenizer, device, padded

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]

THINGS = ("piano", "garden", "bicycle", "camera")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(FOLDER, tmp_path / "weights")
    return tmp_path / "weights"


def without_head(path: Path) -> None:
    """The graph as it is exported, before the head is added to it."""
    model = onnx.load(path)
    added = [node for node in model.graph.node if node.output[0].startswith("token")]
    weights = [one for one in model.graph.initializer if one.name.startswith("token_")]
    assert (len(added), len(weights)) == (4, 2)
    for node in added:
        model.graph.node.remove(node)
    for one in weights:
        model.graph.initializer.remove(one)
    del model.graph.output[1]
    path.write_bytes(model.SerializeToString())


def test_graph_of_other_languages_has_the_head_of_the_training_folder(folder: Path) -> None:
    head = tokens.TokenHead()
    tokens.load_head(head, other_tokens.OTHERS_TRAINED)
    path = folder / f"{other_tokens.NAME}.onnx"
    shipped = path.read_bytes()
    without_head(path)
    assert path.read_bytes() != shipped
    tokens.add_to(folder, head.eval(), other_tokens.NAME, other_tokens.OTHER_TAPS)
    assert path.read_bytes() == shipped


def test_graph_says_of_tokens_what_torch_says_and_keeps_its_vectors(folder: Path) -> None:
    head = tokens.TokenHead()
    head.load_state_dict({name: tensor.float() for name, tensor in load_file(tokens.TRAINED).items()})
    shipped = (folder / "embedder.onnx").read_bytes()
    without_head(folder / "embedder.onnx")
    tokens.add_to(folder, head.eval())
    assert (folder / "embedder.onnx").read_bytes() == shipped, "the head of the training folder is what is shipped"
    embedder, _ = tokens.shipped(FOLDER)
    text = "Ada: I adopted a greyhound last week."
    ids, mask, _ = padded(_tokenizer().encode_batch([text]), device())
    states = tokens.token_states(embedder.encoder, ids, mask)[0].cpu()
    wanted = torch.cat([head.project(states), head.weigh(states)], dim=1).detach().numpy()
    shared = _shared(FOLDER, "english")
    feed = shared.feed(shared.tokenizer.encode_all([text]))
    network = onnxruntime.InferenceSession(folder / "embedder.onnx", providers=["CPUExecutionProvider"])
    vectors, found = network.run(None, {name: feed[name] for name in ("words", "mask")})
    assert vectors == pytest.approx(LocalEmbedder().embed([text]), abs=1e-6)
    assert found[0].shape == wanted.shape
    assert np.mean((found[0] >= 0) == (wanted >= 0)) > 0.95, "rounding moves few of the signs"
    with pytest.raises(ValueError, match="already"):
        tokens.add_to(folder, head)


def test_head_is_taught() -> None:
    messages = [Message("Ada", "8 May 2023", "s1", f"I bought a {thing} in town.") for thing in THINGS]
    questions = [Question(f"When did Ada get a {thing}?", (number,)) for number, thing in enumerate(THINGS)]
    tables = build_tables([Conversation("synth", messages, questions)] * 2, TOKENIZER, FORMS, device())
    embedder, reranker = tokens.shipped(FOLDER)
    head = tokens.TokenHead().to(device())
    before = head.project.weight.detach().clone()
    sampler = Sampler(tables, mine(embedder, tables), seed=1)
    tokens.train(head, embedder.encoder, reranker, tables, sampler, steps=2, questions=2)
    assert not torch.equal(before, head.project.weight)


def test_head_of_other_languages_is_taught(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, few in {"ENGLISH": 2, "FOREIGN": 2, "WRONG": 2, "APART": 3}.items():
        monkeypatch.setattr(other_tokens, name, few)
    english = [Message("Ada", "8 May 2023", "s1", f"I bought a {thing} in town.") for thing in THINGS]
    german = [
        Message("Ada", "8 May 2023", "s1", f"Ich habe heute in der Stadt ein {thing} gekauft.") for thing in THINGS
    ]
    asked = [Question(f"When did Ada get a {thing}?", (number,)) for number, thing in enumerate(THINGS)]
    wann = [Question(f"Wann hat Ada das {thing} gekauft?", (number,)) for number, thing in enumerate(THINGS)]
    told = [Conversation("synth", english, asked)] * 2 + [Conversation("own-de", german, [*wann, asked[0]])] * 4
    head = other_tokens.run(told, FOLDER, steps=2, seed=1)
    torch.manual_seed(1)
    assert not torch.equal(head.project.weight.cpu(), tokens.TokenHead().project.weight)
    assert "other tokens" in capsys.readouterr().out
