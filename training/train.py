"""The two training loops. Both are contrastive: the answer against passages that look like it."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.encoder import EmbeddingModel, RerankingModel
from training.mining import Negatives, autocast, mine
from training.sampling import Sampler
from training.tables import Tables, mask_of, paired, with_cls


@dataclass(frozen=True)
class Recipe:
    steps: int
    questions: int
    rate: float
    same: int
    anywhere: int
    neighbours: int
    random: int
    forms: tuple[tuple[str, float], ...]
    scale: float = 1.0
    warm_up: float = 0.06
    weight_decay: float = 0.01
    mine_again: tuple[float, ...] = ()
    """The shares of the steps after which the embedder mines its own, harder, negatives."""
    gold: float = 0.3
    """What the answer itself counts in distillation, beside the teacher's 1."""
    margins: float = 0.0
    """What the distances between the teacher's scores count in distillation, beside its order."""
    groups: int = 4
    """A batch is sorted by length and cut into this many groups, so that short passages are not padded to long ones."""


EMBEDDER = Recipe(
    steps=1200,
    questions=128,
    rate=1e-4,
    same=5,
    anywhere=2,
    neighbours=1,
    random=1,
    forms=(("embedded", 0.85), ("bare", 0.15)),
    scale=20.0,
    mine_again=(0.15, 0.5),
)
RERANKER = Recipe(
    steps=3000,
    questions=96,
    rate=3e-4,
    same=8,
    anywhere=3,
    neighbours=2,
    random=2,
    forms=(("reranked", 0.8), ("embedded", 0.1), ("bare", 0.1)),
)

Teacher = Callable[[Tensor, Tensor, str], Tensor]
"""Scores of units (a row for each question) in a form."""


@dataclass(frozen=True)
class Lists:
    """Questions, each with a row of units (-1 where there is none), and what a teacher says of them."""

    questions: Tensor
    units: Tensor
    wanted: Tensor


def train_embedder(
    model: EmbeddingModel,
    tables: Tables,
    negatives: Negatives,
    recipe: Recipe,
    seed: int,
    without: Collection[str] = (),
) -> None:
    """In-batch contrast over all passages of the step."""
    sampler = Sampler(tables, negatives, seed, without)

    def loss_of(form: str) -> Tensor:
        questions = sampler.questions(recipe.questions)
        units = _list(sampler, questions, recipe)
        vectors = _embed_sorted(model, tables, form, units.flatten().clamp(min=0), recipe.groups)
        ids, lengths = tables.questions.take(questions)
        asked = model(ids, mask_of(lengths, ids.shape[1]))
        scores = asked @ vectors.T * recipe.scale
        flat = units.flatten()
        count, width = units.shape
        target = torch.arange(count, device=flat.device) * width
        # Another of the question's own answers, wherever it came from, is no negative.
        masked = (flat[None, :, None] == tables.positives[questions][:, None, :]).any(2) | (flat < 0)[None, :]
        masked[torch.arange(count, device=flat.device), target] = False
        return F.cross_entropy(scores.masked_fill(masked, -1e4), target)

    again = {int(recipe.steps * share) for share in recipe.mine_again}

    def before(step: int) -> None:
        if step in again:
            sampler.negatives = mine(model, tables)
            model.train()

    _run(model, loss_of, recipe, seed, before)


def train_reranker(
    model: nn.Module,
    tables: Tables,
    negatives: Negatives,
    recipe: Recipe,
    seed: int,
    without: Collection[str] = (),
) -> None:
    """Listwise: the answer must win among the passages of its own question."""
    sampler = Sampler(tables, negatives, seed, without)

    def loss_of(form: str) -> Tensor:
        questions = sampler.questions(recipe.questions)
        units = _list(sampler, questions, recipe)
        scores = rerank_units(model, tables, questions, units.clamp(min=0), form, recipe.groups)
        target = torch.zeros(len(questions), dtype=torch.long, device=units.device)
        return F.cross_entropy(scores.masked_fill(units < 0, -1e4), target)

    _run(model, loss_of, recipe, seed, lambda _: None)


def train_follower(
    student: RerankingModel, tables: Tables, recipe: Recipe, seed: int, drawn: Callable[[str], Lists]
) -> None:
    """It follows the teacher's scores, and the answer a little."""

    def loss_of(form: str) -> Tensor:
        lists = drawn(form)
        empty = lists.units < 0
        wanted = lists.wanted.masked_fill(empty, -1e4)
        target = torch.zeros(len(wanted), dtype=torch.long, device=wanted.device)
        scores = rerank_units(student, tables, lists.questions, lists.units.clamp(min=0), form, recipe.groups)
        scores = scores.masked_fill(empty, -1e4)
        followed = F.cross_entropy(scores, wanted.softmax(1)) + recipe.gold * F.cross_entropy(scores, target)
        return followed + recipe.margins * _apart(scores, wanted, empty)

    _run(student, loss_of, recipe, seed, lambda _: None)


def judged_by(
    teacher: Teacher, tables: Tables, negatives: Negatives, recipe: Recipe, seed: int
) -> Callable[[str], Lists]:
    """Draws the lists of a step in a form."""
    sampler = Sampler(tables, negatives, seed)

    def drawn(form: str) -> Lists:
        questions = sampler.questions(recipe.questions)
        units = _list(sampler, questions, recipe)
        return Lists(questions, units, teacher(questions, units.clamp(min=0), form))

    return drawn


def _apart(scores: Tensor, wanted: Tensor, empty: Tensor) -> Tensor:
    """The mean square of how far apart two lists of scores are, wherever each begins."""
    difference = (scores - wanted).masked_fill(empty, 0.0)
    count = (~empty).sum(1, keepdim=True).clamp(min=1)
    centred = (difference - difference.sum(1, keepdim=True) / count).masked_fill(empty, 0.0)
    return centred.square().sum() / count.sum()


def rerank_units(
    model: nn.Module, tables: Tables, questions: Tensor, units: Tensor, form: str, groups: int = 4
) -> Tensor:
    flat = units.flatten()
    asking = questions.repeat_interleave(units.shape[1])
    lengths = tables.questions.lengths[asking] + tables.passages[form].lengths[flat]
    order = lengths.argsort()
    scores = [
        model(*paired(tables.questions.take(asking[part]), tables.passages[form].take(flat[part])))
        for part in _groups(order, groups, getattr(model, "padding_costs", False))
    ]
    return torch.cat(scores)[order.argsort()].view(units.shape)


def _embed_sorted(model: EmbeddingModel, tables: Tables, form: str, units: Tensor, groups: int) -> Tensor:
    rows = tables.passages[form]
    order = rows.lengths[units].argsort()
    vectors = [model(*with_cls(*rows.take(units[part], room=1))) for part in _groups(order, groups)]
    return torch.cat(vectors)[order.argsort()]


def _groups(order: Tensor, count: int, padding_costs: bool = False) -> Sequence[Tensor]:
    """The accelerator computes no padding (Encoder.packed), and likes one big batch best; a model may differ."""
    return order.chunk(1 if order.is_cuda and not padding_costs else count)


def _list(sampler: Sampler, questions: Tensor, recipe: Recipe) -> Tensor:
    """Each question's list of units, its answer first."""
    wrong = sampler.wrong(questions, recipe.same, recipe.anywhere, recipe.neighbours, recipe.random)
    return torch.cat([sampler.positive(questions)[:, None], wrong], dim=1)


def _run(
    model: nn.Module, loss_of: Callable[[str], Tensor], recipe: Recipe, seed: int, before: Callable[[int], None]
) -> None:
    torch.manual_seed(seed)
    device = next(model.parameters()).device
    optimizer = torch.optim.AdamW(
        _decayed(model, recipe.weight_decay), lr=recipe.rate, betas=(0.9, 0.98), fused=device.type == "cuda"
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _linear(step, recipe))
    choose = torch.Generator().manual_seed(seed)
    shares = torch.tensor([share for _, share in recipe.forms])
    model.train()
    started, shown, every = time.monotonic(), torch.zeros((), device=device), max(1, recipe.steps // 10)
    for step in range(recipe.steps):
        before(step)
        form = recipe.forms[int(torch.multinomial(shares, 1, generator=choose))][0]
        with autocast(device):
            loss = loss_of(form)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        shown += loss.detach()
        if (step + 1) % every == 0:
            spent = time.monotonic() - started
            print(f"  step {step + 1} of {recipe.steps}, loss {shown.item() / every:.4f}, {spent:.0f} s", flush=True)
            shown.zero_()


def _linear(step: int, recipe: Recipe) -> float:
    warm = max(1, int(recipe.steps * recipe.warm_up))
    return (step + 1) / warm if step < warm else max(0.0, (recipe.steps - step) / max(1, recipe.steps - warm))


def _decayed(model: nn.Module, decay: float) -> list[dict[str, object]]:
    """Biases, norms and position rows are not pulled towards zero."""
    trained = list(model.named_parameters())

    def plain(name: str) -> bool:
        return "norm" in name or name.endswith("bias") or name.endswith(("positions", "types"))

    pulled = [tensor for name, tensor in trained if not plain(name)]
    free: Iterator[Tensor] = (tensor for name, tensor in trained if plain(name))
    return [{"params": pulled, "weight_decay": decay}, {"params": list(free), "weight_decay": 0.0}]
