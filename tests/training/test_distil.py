"""The reranker follows a larger one. It needs torch (test_chain.py)."""

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

from safetensors.torch import save_file
from tokenizers import Tokenizer, models

from training import distil
from training.encoder import EmbeddingModel, RerankingModel, read_parts, save_trained
from training.larger import load_larger, travelling
from training.torch_models import TOKENIZER
from training.train import Lists

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]

THINGS = ("piano", "garden", "bicycle", "camera")
WIDTH, INNER, HEADS, LAYERS = 16, 32, 2, 2


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A random base of two narrow layers, with the files and names that all-mpnet-base-v2 has."""
    torch.manual_seed(0)
    folder = tmp_path / "base"
    folder.mkdir()
    ours = Tokenizer.from_file(str(TOKENIZER)).get_vocab()
    words = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>", *(word for word in ours if not word.startswith("["))]
    vocabulary = {word: number for number, word in enumerate(words)}
    Tokenizer(models.WordLevel(vocabulary, "[UNK]")).save(str(folder / "tokenizer.json"))
    state = {
        "embeddings.word_embeddings.weight": torch.randn(len(words), WIDTH),
        "embeddings.position_embeddings.weight": torch.randn(514, WIDTH),
        "encoder.relative_attention_bias.weight": torch.randn(32, HEADS),
        "pooler.dense.weight": torch.randn(WIDTH, WIDTH),
    }
    norms, products = ["embeddings.LayerNorm"], []
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}."
        norms += [f"{layer}attention.LayerNorm", f"{layer}output.LayerNorm"]
        products += [(f"{layer}attention.attn.{part}", WIDTH, WIDTH) for part in "qkvo"]
        products += [(f"{layer}intermediate.dense", INNER, WIDTH), (f"{layer}output.dense", WIDTH, INNER)]
    for name in norms:
        state |= {f"{name}.weight": torch.ones(WIDTH), f"{name}.bias": torch.zeros(WIDTH)}
    for name, wide, deep in products:
        state |= {f"{name}.weight": torch.randn(wide, deep) / 4, f"{name}.bias": torch.randn(wide)}
    save_file(state, folder / "model.safetensors")
    return folder


def _read_by(model: torch.nn.Module, length: int, width: int) -> torch.Tensor:
    ids = torch.zeros(1, width, dtype=torch.long)
    ids[0, :length] = torch.arange(1000, 1000 + length)
    mask = torch.arange(width)[None, :] < length
    types = (mask & (torch.arange(width) >= 3)).long()
    with torch.no_grad():
        return model.eval()(ids, mask, types)


def test_padding_changes_nothing(base: Path) -> None:
    model = load_larger(base)
    assert torch.allclose(_read_by(model, 7, 8), _read_by(model, 7, 24), atol=1e-5)


def test_order_of_words_counts_by_distance_and_direction(base: Path) -> None:
    model = load_larger(base)
    torch.nn.init.zeros_(model.positions)
    before = _read_by(model, 7, 8)
    model.distances.copy_(model.distances.roll(16, 0))
    assert not torch.allclose(before, _read_by(model, 7, 8), atol=1e-4)


def test_base_rounded_to_travel_reads_almost_as_before(base: Path, tmp_path: Path) -> None:
    travelling(base, tmp_path / "light")
    whole, light = load_larger(base), load_larger(tmp_path / "light")
    light.head.load_state_dict(whole.head.state_dict())
    assert _read_by(light, 7, 8).item() == pytest.approx(_read_by(whole, 7, 8).item(), abs=0.1)
    assert sum(path.stat().st_size for path in (tmp_path / "light").glob("*.safetensors")) < (
        0.4 * (base / "model.safetensors").stat().st_size
    )


def test_folder_without_a_base_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no model in"):
        load_larger(tmp_path)


def test_reranker_follows_the_larger_one(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [["Ada", "8 May 2023", 0, f"I bought a {thing} in town."] for thing in THINGS]
    questions = [[f"When did Ada get a {thing}?", [number]] for number, thing in enumerate(THINGS)]
    data = tmp_path / "all.json.xz"
    with lzma.open(data, "wt", encoding="utf-8") as file:
        json.dump([{"s": source, "m": messages, "q": questions} for source in ("talk", distil.APART)], file)
    small = {"steps": 2, "questions": 2, "same": 1, "anywhere": 1, "neighbours": 1, "random": 1}
    monkeypatch.setattr(distil, "LARGER", replace(distil.LARGER, **small))
    monkeypatch.setattr(distil, "FOLLOWING", replace(distil.FOLLOWING, **small))
    monkeypatch.setattr(distil, "BATCHES", 3)
    out = tmp_path / "out"
    monkeypatch.setattr(
        "sys.argv",
        ["distil", "--data", str(data), "--trained", str(tmp_path), "--larger", str(base), "--out", str(out)],
    )
    save_trained(EmbeddingModel(1), tmp_path, "embedder")
    save_trained(RerankingModel(1), tmp_path, "reranker")
    distil.main()
    before, kept = read_parts(tmp_path, "reranker"), read_parts(out, "reranker")
    assert any(not torch.equal(before[name], kept[name]) for name in before)


def test_all_that_was_read_comes_again_in_another_order() -> None:
    recipe = replace(distil.FOLLOWING, questions=2)
    numbers = torch.arange(6)
    drawn = distil.over_again({"bare": Lists(numbers, numbers[:, None], numbers[:, None].float())}, recipe, 1)
    rounds = [torch.cat([drawn("bare").questions for _ in range(3)]) for _ in range(4)]
    assert all(one.sort().values.tolist() == numbers.tolist() for one in rounds)
    assert len({tuple(one.tolist()) for one in rounds}) > 1
    lists = drawn("bare")
    assert lists.units[:, 0].tolist() == lists.wanted[:, 0].tolist() == lists.questions.tolist()


def test_what_is_followed_is_the_distance_between_scores() -> None:
    from training.train import _apart

    empty = torch.tensor([[False, False, True]])
    wanted = torch.tensor([[1.0, 3.0, -1e4]])
    assert _apart(wanted + 5, wanted, empty).item() == pytest.approx(0, abs=1e-6)
    assert _apart(torch.tensor([[3.0, 1.0, -1e4]]), wanted, empty).item() == pytest.approx(4.0)
