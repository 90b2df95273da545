"""The whole chain on one small conversation: data, mining, both trainings, evaluation, whole numbers, use.

It needs torch, safetensors and onnx (training/requirements.txt), which users of Memorist never install. Where torch is
missing these tests are skipped, and the run says so; with MEMORIST_TRAINING_TESTS=1 it fails instead.
"""

import json
import lzma
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

if os.environ.get("MEMORIST_TRAINING_TESTS") == "1":
    import torch
else:
    torch = pytest.importorskip("torch", reason="training needs torch: pip install -r training/requirements.txt")

from safetensors.torch import save_file

from memorist.models.embedder import LocalEmbedder
from memorist.models.reranker import LocalReranker
from memorist.recall.fusion import FUSION
from training import compare, run
from training.average import average
from training.data import cut_into_units, load_benchmark, load_training, write_out
from training.encoder import EmbeddingModel, RerankingModel, _means, load_base, read_parts
from training.evaluate import evaluate, read_scores, summarize
from training.export import reranker_graph
from training.mining import mine
from training.quantize import Recipe, quantize
from training.rounding import round_encoder, set_ranges
from training.run import STAGES, Job
from training.sampling import Sampler
from training.tables import CLS, SEP, build_tables
from training.torch_models import TOKENIZER, load_embedder, load_reranker

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]

THINGS = ["piano", "garden", "bicycle", "camera", "novel", "puppy", "kitchen", "violin"]


@pytest.fixture(scope="module")
def conversations_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    messages, questions = [], []
    for number, thing in enumerate(THINGS):
        speaker = ("Ada", "Mel")[number % 2]
        text = f"I bought a {thing} in town." if number else "I sold my old house. " * 60
        messages.append([speaker, f"{number + 1} May 2023", number // 4, text])
        questions.append([f"When did {speaker} get a {thing}?", [number]])
    path = tmp_path_factory.mktemp("data") / "conversations.json.xz"
    with lzma.open(path, "wt") as file:
        json.dump([{"s": "synth", "m": messages, "q": questions}] * 2, file)
    return path


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model of the base's shape: the chain must run, not learn."""
    torch.manual_seed(0)
    width, inner = 384, 1536
    shapes = {
        "embeddings.word_embeddings.weight": (30522, width),
        "embeddings.position_embeddings.weight": (512, width),
        "embeddings.token_type_embeddings.weight": (2, width),
    }
    shapes |= {f"embeddings.LayerNorm.{kind}": (width,) for kind in ("weight", "bias")}
    for part in ("self.query", "self.key", "self.value", "output.dense"):
        shapes[f"encoder.layer.5.attention.{part}.weight"] = (width, width)
        shapes[f"encoder.layer.5.attention.{part}.bias"] = (width,)
    for part in ("attention.output.LayerNorm", "output.LayerNorm"):
        shapes |= {f"encoder.layer.5.{part}.{kind}": (width,) for kind in ("weight", "bias")}
    shapes |= {
        "encoder.layer.5.intermediate.dense.weight": (inner, width),
        "encoder.layer.5.intermediate.dense.bias": (inner,),
    }
    shapes |= {"encoder.layer.5.output.dense.weight": (width, inner), "encoder.layer.5.output.dense.bias": (width,)}
    tensors = {
        name: torch.ones(shape) if name.endswith("LayerNorm.weight") else torch.randn(shape) * 0.05
        for name, shape in shapes.items()
    }
    folder = tmp_path_factory.mktemp("base")
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module")
def trained(conversations_file: Path, base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained")
    job = Job(conversations_file, base, out, steps=2, questions=4, layers=1)
    for stage in STAGES.values():
        stage(job)
    return out


def test_without_a_stage_both_are_trained(
    conversations_file: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = ["--data", str(conversations_file), "--base", str(base), "--out", str(tmp_path)]
    command = ["run", *places, "--steps", "1", "--questions", "4", "--layers", "1"]
    monkeypatch.setattr("sys.argv", command)
    run.main()
    assert {path.name for path in tmp_path.glob("*-0.safetensors")} == {
        f"{name}{number}-0.safetensors" for name in ("embedder", "reranker") for number in ("", "1", "2")
    }
    monkeypatch.setattr("sys.argv", [*command, "nothing"])
    with pytest.raises(SystemExit):
        run.main()


def test_average_is_between_its_models(trained: Path, tmp_path: Path) -> None:
    average([trained / "embedder1", trained / "embedder2"], tmp_path / "both" / "mean")
    places = (trained, "embedder1"), (trained, "embedder2"), (tmp_path / "both", "mean")
    left, right, mean = (read_parts(*place) for place in places)
    for key, tensor in mean.items():
        assert torch.allclose(tensor, (left[key] + right[key]) / 2, atol=1e-3)
    with pytest.raises(ValueError, match="not of one kind"):
        average([trained / "embedder", trained / "reranker"], tmp_path / "odd")
    with pytest.raises(FileNotFoundError):
        average([trained / "embedder", trained / "nothing"], tmp_path / "none")


@pytest.fixture(scope="module")
def weights(trained: Path, conversations_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is shipped: the trained parts in whole numbers, with their words."""
    out = tmp_path_factory.mktemp("weights")
    for name in ("embedder", "reranker"):
        quantize(name, load_training(conversations_file), trained, out, Recipe(steps=2, tokens=256), words=trained)
    return out


def test_what_is_shipped_says_what_was_trained(trained: Path, weights: Path) -> None:
    texts = ["Ada bought a piano.", "A much longer sentence about the garden and the puppy that Mel found.", ""]
    exact = load_embedder(trained, trained).embed(texts)
    assert (exact * LocalEmbedder(folder=weights).embed(texts)).sum(1) == pytest.approx(np.ones(3), abs=0.02)
    wanted = np.array(load_reranker(trained, trained).score("What piano?", texts))
    scored = np.array(LocalReranker(folder=weights).score("What piano?", texts))
    # The head's bias is left out of the graph: it moves all scores alike.
    assert scored - scored.mean() == pytest.approx(wanted - wanted.mean(), abs=0.1)


def test_a_reranker_scores_alike_in_torch_and_onnx() -> None:
    torch.manual_seed(0)
    model = RerankingModel(2).eval()
    words, mask, types = (
        torch.randn(2, 30, 384),
        torch.ones(2, 30, dtype=torch.bool),
        torch.arange(30).expand(2, 30) > 9,
    )
    # Random words instead of real ones: what is compared is the graph.
    model.encoder.word_rows, model.encoder.word_scales = words.reshape(60, 384), torch.ones(60)
    read = torch.arange(60).view(2, 30), mask, types.long()
    round_encoder(model.encoder)
    set_ranges(model.encoder, lambda: model.encoder(*read))
    session = onnxruntime.InferenceSession(reranker_graph(model).SerializeToString())
    feed = {"words": words.numpy(), "mask": mask.int().numpy(), "segments": types.float().numpy()}
    (found,) = session.run(None, feed)
    wanted = model(*read).detach().numpy()
    assert found - found.mean() == pytest.approx(wanted - wanted.mean(), abs=0.01)


def test_negatives_are_never_answers(conversations_file: Path, base: Path) -> None:
    conversations = load_training(conversations_file)
    tables = build_tables(conversations, TOKENIZER, ("embedded",), torch.device("cpu"))
    model = EmbeddingModel(1)
    load_base(model.encoder, base)
    sampler = Sampler(tables, mine(model, tables), seed=1)
    questions = sampler.questions(8)
    drawn = sampler.wrong(questions, same=5, anywhere=2, neighbours=2, random=3)
    right = tables.positives[questions]
    assert not ((drawn[:, :, None] == right[:, None, :]) & (drawn >= 0)[:, :, None]).any()
    assert (sampler.positive(questions)[:, None] == right).any(1).all()


def test_a_long_message_becomes_several_units_with_its_context(conversations_file: Path) -> None:
    conversations = load_training(conversations_file)
    units = [unit for unit in cut_into_units(conversations[:1]) if unit.message == 0]
    assert len(units) > 1
    assert write_out(conversations, units[0], "reranked").endswith("| Mel: I bought a garden in town.")


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    messages = [
        {
            "id": str(n),
            "session": "1",
            "time": "2023-05-08T10:00:00",
            "speaker": "Ada",
            "role": None,
            "text": f"my {thing}",
        }
        for n, thing in enumerate(THINGS)
    ]
    questions = [
        {"id": f"q{n}", "text": f"the {thing}?", "category": "c", "evidence": [str(n)]}
        for n, thing in enumerate(THINGS)
    ]
    path = tmp_path / "small.json"
    path.write_text(json.dumps({"name": "small", "cases": [{"id": "1", "messages": messages, "questions": questions}]}))
    return path


def test_benchmarks_are_measured(benchmark: Path, embedder_of_words: object) -> None:
    assert len(load_benchmark(benchmark)[0].questions) == len(THINGS)
    report = evaluate([benchmark], embedder_of_words, None, FUSION)  # type: ignore[arg-type]
    assert report["small"]["first"]["recall@1"] == 1.0


def test_the_export_is_compared_with_scores_saved_elsewhere(
    benchmark: Path,
    embedder_of_words: object,
    trained: Path,
    weights: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reranker = load_reranker(trained, trained)
    fresh = evaluate([benchmark], embedder_of_words, reranker, FUSION, save=tmp_path)["small"]  # type: ignore[arg-type]
    assert summarize(read_scores(load_benchmark(benchmark), tmp_path / "small.npz"), FUSION) == fresh
    command = ["compare", str(benchmark), "--weights", str(weights)]
    monkeypatch.setattr("sys.argv", [*command, "--scores", str(tmp_path)])
    compare.main()
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[1] for row in rows[-3:]] == ["dense", "first", "reranked"]
    assert all(float(row.split("|")[-2]) <= 1 for row in rows[-3:])
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit):
        compare.main()
    assert "either --trained" in capsys.readouterr().err


@pytest.fixture
def embedder_of_words() -> object:
    class OfWords:
        def embed(self, texts: list[str]) -> np.ndarray:
            return np.array([[float(thing in text) for thing in THINGS] for text in texts], dtype=np.float32)

    return OfWords()


def test_rows_without_padding_give_the_same_as_padded_ones(base: Path) -> None:
    """On an accelerator the padding is not computed; there it is another kernel, here the same by a mask."""
    torch.manual_seed(0)
    model = RerankingModel(1).eval()
    load_base(model.encoder, base)
    two = RerankingModel(2).eval().encoder
    two.load_state_dict(
        model.encoder.state_dict()
        | {f"layers.{to}.{k}": v for to in (0, 1) for k, v in model.encoder.layers[0].state_dict().items()}
    )
    lengths = torch.tensor([3, 9, 1, 6])
    mask = torch.arange(9)[None, :] < lengths[:, None]
    ids, types = torch.randint(1000, 3000, (4, 9)) * mask, (torch.arange(9) > 2).expand(4, 9).long()
    wanted = two(ids, mask, types)[mask]
    found, starts = two.packed(ids, mask, types)
    assert starts.tolist() == [0, 3, 12, 13, 19]
    assert found.detach().numpy() == pytest.approx(wanted.detach().numpy(), abs=1e-5)
    firsts, _ = two.packed(ids, mask, types, first_only=True)
    padded = two(ids, mask, types, first_only=True)[:, 0]
    assert firsts.detach().numpy() == pytest.approx(padded.detach().numpy(), abs=1e-5)
    means = torch.stack([wanted[start:end].mean(0) for start, end in pairwise(starts.tolist())])
    assert _means(found, starts).detach().numpy() == pytest.approx(means.detach().numpy(), abs=1e-5)


def test_a_mined_passage_may_share_the_words_or_the_meaning(conversations_file: Path, base: Path) -> None:
    tables = build_tables(load_training(conversations_file), TOKENIZER, ("bare", "embedded"), torch.device("cpu"))
    model = EmbeddingModel(1)
    load_base(model.encoder, base)
    by_words = mine(model, tables, text=1.0).same_conversation
    rows = tables.passages["bare"]
    for question, (first, *_) in enumerate(by_words.tolist()):
        asked = set(tables.questions.tokens[question].tolist()) - {0, CLS, SEP}
        assert asked & set(rows.tokens[first].tolist())


def test_a_run_never_sees_questions_of_the_sources_it_goes_without(conversations_file: Path, base: Path) -> None:
    conversations = load_training(conversations_file)
    both = [conversations[0], replace(conversations[1], source="cosmos")]
    tables = build_tables(both, TOKENIZER, ("embedded",), torch.device("cpu"))
    model = EmbeddingModel(1)
    load_base(model.encoder, base)
    negatives = mine(model, tables)
    drawn = Sampler(tables, negatives, seed=1, without=("cosmos",)).questions(len(THINGS))
    assert set(tables.question_conversation[drawn].tolist()) == {0}
    assert set(tables.question_conversation[Sampler(tables, negatives, seed=1).questions(16)].tolist()) == {0, 1}
