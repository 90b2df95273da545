"""Trains the reranker by a larger one:
`python -m training.distil --data FILE --trained FOLDER --larger FOLDER --out FOLDER`.

The larger reader (larger.py) learns from answers, as the small one did. Then it reads many lists once, and the reranker
that training.run wrote follows what it says of them, several times over: a step of the small one costs a fraction of
one reading. The larger one does not learn from conversations of the source `apart`: what it says of them is what it
concludes, not what it learned by heart.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from memorist.models.files import FOLDER
from memorist.recall.fusion import FUSION
from training.data import FORMS, load_training
from training.encoder import RerankingModel, save_trained
from training.evaluate import evaluate
from training.larger import LargerReranker, load_larger
from training.mining import Negatives, autocast, mine
from training.tables import Tables, build_tables
from training.torch_models import TOKENIZER, TorchEmbedder, TorchReranker, device, load_embedder, load_reranker
from training.train import (
    RERANKER,
    Lists,
    Recipe,
    Teacher,
    judged_by,
    rerank_units,
    train_follower,
    train_reranker,
)

APART = "apart"
LARGER = replace(RERANKER, steps=2100, questions=64, rate=3e-5, same=7, anywhere=2, groups=8)
FOLLOWING = replace(RERANKER, steps=9000, rate=2e-4, same=9, anywhere=2, gold=0.2, margins=0.05)
BATCHES = 3000
"""Of lists that the larger one reads."""
SEED = 11


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


def read_ahead(drawn: Callable[[str], Lists], recipe: Recipe, batches: int) -> Mapping[str, Lists]:
    """Lists of each form, as many as its share of the steps."""
    read = {}
    for form, share in recipe.forms:
        found = [drawn(form) for _ in range(max(1, round(share * batches)))]
        columns = zip(*((one.questions, one.units, one.wanted) for one in found), strict=True)
        read[form] = Lists(*(torch.cat(column) for column in columns))
    return read


def over_again(read: Mapping[str, Lists], recipe: Recipe, seed: int) -> Callable[[str], Lists]:
    """Draws from what was read, in another order each time it is through."""
    order = torch.Generator().manual_seed(seed)
    left: dict[str, list[Tensor]] = {form: [] for form in read}

    def drawn(form: str) -> Lists:
        lists = read[form]
        if not left[form]:
            shuffled = torch.randperm(len(lists.questions), generator=order).to(lists.questions.device)
            left[form] = list(shuffled.split(recipe.questions))
        rows = left[form].pop()
        return Lists(lists.questions[rows], lists.units[rows], lists.wanted[rows])

    return drawn


def follow(
    student: RerankingModel, tables: Tables, read: Mapping[str, Lists], recipe: Recipe, seed: int = SEED
) -> None:
    torch.manual_seed(seed)
    train_follower(student, tables, recipe, seed, over_again(read, recipe, seed))


def distil(tables: Tables, larger: Path, trained: Path, words: Path, out: Path, files: Sequence[Path] = ()) -> None:
    """Writes `reranker` to `out`; `files` are measured on."""
    embedder, student = load_embedder(trained, words).model, load_reranker(trained, words).model
    negatives = mine(embedder, tables, text=FUSION.text)
    teacher = teacher_of(train_larger(larger, tables, negatives, LARGER), tables)
    read = read_ahead(judged_by(teacher, tables, negatives, FOLLOWING, SEED), FOLLOWING, BATCHES)
    follow(student, tables, read, FOLLOWING)
    save_trained(student, out, "reranker")
    if files:
        evaluate(files, TorchEmbedder(embedder), TorchReranker(student), FUSION.without_tokens(), by_category=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="what training.prepare wrote")
    parser.add_argument("--larger", type=Path, required=True, help="folder with all-mpnet-base-v2")
    parser.add_argument("--trained", type=Path, required=True, help="what training.run wrote")
    parser.add_argument("--words", type=Path, default=FOLDER, help="folder with the table of words")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--benchmarks", type=Path, nargs="*", default=[])
    arguments = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    tables = build_tables(load_training(arguments.data), TOKENIZER, FORMS, device())
    distil(tables, arguments.larger, arguments.trained, arguments.words, arguments.out, arguments.benchmarks)


if __name__ == "__main__":
    main()
