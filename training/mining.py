"""Finds what looks like an answer and is none: the nearest wrong passages of each question."""

from dataclasses import dataclass

import torch
from torch import Tensor

from training.encoder import EmbeddingModel
from training.tables import Tables, mask_of, with_cls

DEPTH = 32


@dataclass(frozen=True)
class Negatives:
    """Units for each question, nearest first; -1 where there are fewer.

    `answering` marks, among the question's positives, the window of each message that fits it best.
    """

    same_conversation: Tensor
    anywhere: Tensor
    answering: Tensor


@torch.no_grad()
def embed_units(model: EmbeddingModel, tables: Tables, form: str = "embedded") -> Tensor:
    model.eval()
    rows = tables.passages[form]
    order = rows.lengths.argsort()
    vectors = torch.zeros(tables.unit_count, 384, device=order.device, dtype=torch.float16)
    for index in order.split(2048 if order.is_cuda else 64):
        with autocast(order.device):
            vectors[index] = model(*with_cls(*rows.take(index, room=1))).half()
    return vectors


@torch.no_grad()
def embed_questions(model: EmbeddingModel, tables: Tables, batch: int = 2048) -> Tensor:
    model.eval()
    device = tables.questions.tokens.device
    vectors = []
    for index in torch.arange(len(tables.questions.tokens), device=device).split(batch):
        ids, lengths = tables.questions.take(index)
        with autocast(device):
            vectors.append(model(ids, mask_of(lengths, ids.shape[1])).half())
    return torch.cat(vectors)


@torch.no_grad()
def mine(model: EmbeddingModel, tables: Tables, depth: int = DEPTH, chunk: int = 2048) -> Negatives:
    """The positives themselves, and twins of them elsewhere, are never negatives."""
    passages, questions = embed_units(model, tables), embed_questions(model, tables)
    same, anywhere, answering = [], [], []
    for index in torch.arange(len(questions), device=questions.device).split(chunk):
        # The processor has no half-precision matrix product worth the name; the accelerator has.
        left = questions[index] if questions.is_cuda else questions[index].float()
        scores = (left @ (passages if passages.is_cuda else passages.float()).T).float()
        positives = tables.positives[index]
        fitting = scores.gather(1, positives.clamp(min=0)).masked_fill(positives < 0, -1)
        answering.append(_best_of_message(fitting, tables.unit_message[positives.clamp(min=0)]) & (positives >= 0))
        best_positive = fitting.amax(1, keepdim=True)
        rows = torch.arange(len(index), device=index.device)[:, None].expand_as(positives)
        scores[rows[positives >= 0], positives[positives >= 0]] = -torch.inf
        own = tables.unit_conversation[None, :] == tables.question_conversation[index][:, None]
        same.append(_nearest(scores.masked_fill(~own, -torch.inf), depth))
        # What scores clearly above the answer in another conversation is mostly the same text told again.
        foreign = scores.masked_fill(own | (scores > best_positive + 0.1), -torch.inf)
        anywhere.append(_nearest(foreign, depth))
    return Negatives(torch.cat(same), torch.cat(anywhere), torch.cat(answering))


def autocast(device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


def _best_of_message(scores: Tensor, messages: Tensor) -> Tensor:
    rivals = (messages[:, :, None] == messages[:, None, :]) & (scores[:, None, :] > scores[:, :, None])
    return ~rivals.any(2)


def _nearest(scores: Tensor, depth: int) -> Tensor:
    values, units = scores.topk(min(depth, scores.shape[1]), dim=1)
    units = units.masked_fill(values == -torch.inf, -1)
    return torch.nn.functional.pad(units, (0, depth - units.shape[1]), value=-1)
