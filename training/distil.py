"""Trains the reranker by a larger one: `python -m training.distil --data FILE --larger FOLDER --out FOLDER`.

The larger reader (larger.py) learns from answers, as the small one did. Then the shipped reranker follows what it says
of the same kind of lists, twice with seeds of its own, and is the mean of both. The larger one does not learn from
conversations of the source `apart`: what it says of them is what it concludes, not what it learned by heart.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from memorist.models.files import FOLDER
from memorist.recall.fusion import FUSION
from training.average import average
from training.data import FORMS, load_training
from training.encoder import EmbeddingModel, RerankingModel, load_trained, save_trained
from training.larger import LargerReranker, load_larger
from training.mining import Negatives, autocast, mine
from training.refine import measure, shipped
from training.tables import Tables, build_tables
from training.torch_models import TOKENIZER, device
from training.train import RERANKER, Recipe, Teacher, rerank_units, train_reranker, train_students

APART = "apart"
LARGER = replace(RERANKER, steps=4000, questions=64, rate=3e-5, same=7, anywhere=2, groups=8)
FOLLOWING = replace(RERANKER, steps=2000, rate=1.5e-4, same=9, anywhere=2, gold=0.2, margins=0.05)
SEEDS = 11, 12


def train_larger(base: Path, tables: Tables, negatives: Negatives, recipe: Recipe) -> LargerReranker:
    torch.manual_seed(1)
    model = load_larger(base).to(device())
    train_reranker(model, tables, negatives, recipe, 1, without=(APART,))
    return model.eval()


def teacher_of(larger: LargerReranker, tables: Tables, groups: int = LARGER.groups) -> Teacher:
    @torch.no_grad()
    def score(questions: Tensor, units: Tensor, form: str) -> Tensor:
        with autocast(units.device):
            return rerank_units(larger, tables, questions, units, form, groups)

    return score


def follow(
    student: RerankingModel, tables: Tables, negatives: Negatives, recipe: Recipe, seed: int, by: Teacher
) -> None:
    torch.manual_seed(seed)
    train_students([student], tables, negatives, recipe, seed, by)


def distil(
    tables: Tables, larger: Path, weights: Path, out: Path, recipes: tuple[Recipe, Recipe], files: Sequence[Path] = ()
) -> None:
    """Writes `reranker` to `out`; `files` are measured on."""
    embedder = shipped("embedder", weights)
    assert isinstance(embedder, EmbeddingModel)
    negatives = mine(embedder, tables, text=FUSION.text)
    teacher = teacher_of(train_larger(larger, tables, negatives, recipes[0]), tables)
    for seed in SEEDS:
        student = shipped("reranker", weights)
        assert isinstance(student, RerankingModel)
        follow(student, tables, negatives, recipes[1], seed, teacher)
        save_trained(student, out, f"reranker{seed}")
    average([out / f"reranker{seed}" for seed in SEEDS], out / "reranker")
    if files:
        student = shipped("reranker", weights)
        load_trained(student, out, "reranker")
        assert isinstance(student, RerankingModel)
        measure(files, embedder, student)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="what training.prepare wrote")
    parser.add_argument("--larger", type=Path, required=True, help="folder with all-mpnet-base-v2")
    parser.add_argument("--weights", type=Path, default=FOLDER, help="where the reranker begins")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--benchmarks", type=Path, nargs="*", default=[])
    arguments = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    tables = build_tables(load_training(arguments.data), TOKENIZER, FORMS, device())
    distil(tables, arguments.larger, arguments.weights, arguments.out, (LARGER, FOLLOWING), arguments.benchmarks)


if __name__ == "__main__":
    main()
