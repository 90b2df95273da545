"""Trains the tagger and the judge: batches of rows of unequal length, AdamW, linear decay."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from memorist.models.tagger import pair_of, pooling
from memorist.models.values import NEEDS, TOPICS, DatedFact
from training.knowledge.data import Example, Pair
from training.torch_models import padded

_KEEP_WEIGHTS = (1.0, 0.7, 1.0, 1.5)
"""How much a sentence counts, by its importance: a missed one of three hurts most, of one least."""


@dataclass(frozen=True)
class Recipe:
    epochs: int = 5
    rate: float = 1e-4
    head_rate: float = 1e-3
    batch: int = 48
    warm_up: float = 0.06


def train(
    model: nn.Module,
    rows: Sequence[object],
    loss_of: Callable[[Sequence[object], random.Random], Tensor],
    recipe: Recipe,
    seed: int,
) -> None:
    """Goes through the rows `epochs` times, in an order of its own each time."""
    torch.manual_seed(seed)
    order = random.Random(seed)
    heads = [value for name, value in model.named_parameters() if not name.startswith("encoder.")]
    groups = [
        {"params": list(model.encoder.parameters()), "lr": recipe.rate},
        {"params": heads, "lr": recipe.head_rate},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, betas=(0.9, 0.98))
    steps = recipe.epochs * math.ceil(len(rows) / recipe.batch)
    warm = max(1, int(steps * recipe.warm_up))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))
    )
    device = next(model.parameters()).device
    model.train()
    for _ in range(recipe.epochs):
        chosen = list(rows)
        order.shuffle(chosen)
        for start in range(0, len(chosen), recipe.batch):
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
                loss = loss_of(chosen[start : start + recipe.batch], order)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()


# The tagger


def tagging_loss(model: nn.Module, tokenizer: Tokenizer) -> Callable[[Sequence[Example], random.Random], Tensor]:
    device = next(model.parameters()).device

    def loss(batch: Sequence[Example], _: random.Random) -> Tensor:
        outputs = tagged(model, tokenizer, batch)
        known = [(row, number, label) for row, one in enumerate(batch) for number, label in enumerate(one.labels)]
        rows = torch.tensor([row for row, _, _ in known], device=device)
        numbers = torch.tensor([number for _, number, _ in known], device=device)
        said = outputs[rows, numbers]
        importance = torch.tensor([label.importance for _, _, label in known], device=device)
        wanted = (importance[:, None] > torch.arange(3, device=device)).float()
        weights = torch.tensor(_KEEP_WEIGHTS, device=device)[importance]
        keep = F.binary_cross_entropy_with_logits(said[:, :3], wanted, reduction="none")
        # Whether it is kept at all counts most.
        total = (keep * weights[:, None] * torch.tensor([1.0, 0.5, 0.5], device=device)).sum(1).mean()
        kept = importance > 0
        if kept.any():
            topics = torch.tensor([label.topic for _, _, label in known], device=device)[kept]
            needs = torch.tensor([label.needs for _, _, label in known], device=device)[kept]
            other = torch.tensor([float(label.of_other) for _, _, label in known], device=device)[kept]
            said = said[kept]
            total = total + 0.3 * F.cross_entropy(said[:, 3 : 3 + len(TOPICS)], topics)
            total = total + 0.3 * F.cross_entropy(said[:, 3 + len(TOPICS) : 3 + len(TOPICS) + len(NEEDS)], needs)
            total = total + 0.2 * F.binary_cross_entropy_with_logits(said[:, -1], other)
        return total

    return loss


def tagged(model: nn.Module, tokenizer: Tokenizer, batch: Sequence[Example]) -> Tensor:
    device = next(model.parameters()).device
    encodings = tokenizer.encode_batch([pair_of(one.passage) for one in batch])
    ids, mask, types = padded(encodings, device)
    sentences = max(len(one.labels) for one in batch)
    weights = np.zeros((len(batch), sentences, ids.shape[1]), dtype=np.float32)
    for row, (one, encoding) in enumerate(zip(batch, encodings, strict=True)):
        own = pooling(one.passage, encoding)
        weights[row, : own.shape[0], : own.shape[1]] = own
    return model(ids, mask, types, torch.from_numpy(weights).to(device))


# The judge


def judging_loss(
    model: nn.Module, tokenizer: Tokenizer, smoothing: float = 0.05
) -> Callable[[Sequence[Pair], random.Random], Tensor]:
    device = next(model.parameters()).device

    def loss(batch: Sequence[Pair], order: random.Random) -> Tensor:
        outputs = judged(model, tokenizer, [_shown(one, order) for one in batch])
        wanted = torch.tensor([one.label for one in batch], device=device)
        return F.cross_entropy(outputs, wanted, label_smoothing=smoothing)

    return loss


def soft_loss(
    model: nn.Module, tokenizer: Tokenizer
) -> Callable[[Sequence[tuple[Pair, NDArray[np.float32]]], random.Random], Tensor]:
    """Towards what others say of a pair, as likelihoods."""
    device = next(model.parameters()).device

    def loss(batch: Sequence[tuple[Pair, NDArray[np.float32]]], order: random.Random) -> Tensor:
        outputs = judged(model, tokenizer, [_shown(pair, order) for pair, _ in batch])
        wanted = torch.tensor(np.stack([said for _, said in batch]), device=device, dtype=torch.float32)
        return -(wanted * outputs.log_softmax(1)).sum(1).mean()

    return loss


@torch.no_grad()
def probabilities(
    model: nn.Module, tokenizer: Tokenizer, rows: Sequence[Pair], at_once: int = 128
) -> NDArray[np.float32]:
    """What a model says of pairs without their dates."""
    model.eval()
    found = [
        judged(model, tokenizer, [(row.older, row.newer) for row in rows[start : start + at_once]]).softmax(1)
        for start in range(0, len(rows), at_once)
    ]
    return torch.cat(found).float().cpu().numpy()


def _shown(pair: Pair, order: random.Random) -> tuple[str, str]:
    """A pair as the judge reads it; a third of them without dates, as many facts have none."""
    dated = order.random() > 1 / 3
    older, newer = (pair.older_time, pair.newer_time) if dated else ("", "")
    return DatedFact(pair.older, older).shown(), DatedFact(pair.newer, newer).shown()


def judged(model: nn.Module, tokenizer: Tokenizer, shown: Sequence[tuple[str, str]]) -> Tensor:
    return model(*padded(tokenizer.encode_batch(list(shown)), next(model.parameters()).device))
