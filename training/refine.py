"""Trains the shipped models on: `python -m training.refine embedder|reranker --data FILE --out FOLDER`.

It begins where they are and draws the conversations that were written since more often (data.SOURCE_WEIGHTS). What is
kept is a mean of what it began with and what it became: that forgets less.
"""

import argparse
import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from memorist.models.files import FOLDER
from memorist.recall.fusion import FUSION
from training.data import FORMS, load_training
from training.encoder import EmbeddingModel, RerankingModel, save_trained
from training.evaluate import evaluate
from training.mining import mine
from training.shipped import load_shipped, shipped_head
from training.tables import build_tables
from training.torch_models import TOKENIZER, TorchEmbedder, TorchReranker, device
from training.train import EMBEDDER, RERANKER, train_embedder, train_reranker

REFINED = {
    "embedder": replace(EMBEDDER, steps=800, rate=5e-5, mine_again=(0.3,)),
    "reranker": replace(RERANKER, steps=1500, rate=1e-4),
}


def shipped(name: str, folder: Path = FOLDER) -> EmbeddingModel | RerankingModel:
    model = EmbeddingModel() if name == "embedder" else RerankingModel()
    load_shipped(model.encoder, name, folder)
    if isinstance(model, RerankingModel):
        shipped_head(model.head, name, folder)
    return model.to(device())


def between(one: nn.Module, other: nn.Module, share: float) -> nn.Module:
    """The mean of two models, of which the other has a share."""
    found = copy.deepcopy(one)
    theirs = other.state_dict()
    mixed = {
        key: value if not value.is_floating_point() else value.lerp(theirs[key], share)
        for key, value in one.state_dict().items()
    }
    found.load_state_dict(mixed)
    return found


def measure(files: Sequence[Path], embedder: EmbeddingModel, reranker: RerankingModel | None) -> None:
    judge = None if reranker is None else TorchReranker(reranker)
    evaluate(files, TorchEmbedder(embedder), judge, FUSION.without_tokens(), by_category=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=REFINED)
    parser.add_argument("--data", type=Path, required=True, help="what training.prepare wrote")
    parser.add_argument("--weights", type=Path, default=FOLDER, help="where it begins")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", type=float, default=0.5, help="what counts of what it became")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--benchmarks", type=Path, nargs="*", default=[])
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.set_float32_matmul_precision("high")
    tables = build_tables(load_training(arguments.data), TOKENIZER, FORMS, device())
    recipe = REFINED[arguments.name]
    recipe = replace(recipe, steps=arguments.steps or recipe.steps, rate=arguments.rate or recipe.rate)
    embedder = shipped("embedder", arguments.weights)
    assert isinstance(embedder, EmbeddingModel)
    if arguments.name == "embedder":
        before, model = embedder, copy.deepcopy(embedder)
        train_embedder(model, tables, mine(embedder, tables), recipe, arguments.seed)
    else:
        before = shipped("reranker", arguments.weights)
        model = copy.deepcopy(before)
        assert isinstance(model, RerankingModel)
        train_reranker(model, tables, mine(embedder, tables, text=FUSION.text), recipe, arguments.seed)
    kept = between(before, model, arguments.share)
    save_trained(kept, arguments.out, arguments.name)
    if arguments.benchmarks:
        for title, one in (("before", before), ("refined", model), (f"{arguments.share} of it", kept)):
            print(title, flush=True)
            pair = (one, None) if arguments.name == "embedder" else (embedder, one)
            measure(arguments.benchmarks, *pair)


if __name__ == "__main__":
    main()
