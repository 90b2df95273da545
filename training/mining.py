"""Finds what looks like an answer and is none: the nearest wrong passages of each question."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from memorist.recall.index.postings import wording
from training.encoder import EmbeddingModel
from training.ranker import posting_lists
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
def mine(model: EmbeddingModel, tables: Tables, depth: int = DEPTH, chunk: int = 2048, text: float = 0.0) -> Negatives:
    """The positives themselves, and twins of them elsewhere, are never negatives.

    `text` is what the words count within a conversation beside the vectors: `FUSION.text` where it is ranked so.
    """
    passages, questions = embed_units(model, tables), embed_questions(model, tables)
    if not passages.is_cuda:  # the processor has no half-precision matrix product worth the name
        passages, questions = passages.float(), questions.float()
    anywhere, answering = [], []
    for index in torch.arange(len(questions), device=questions.device).split(chunk):
        scores = (questions[index] @ passages.T).float()
        positives = tables.positives[index]
        fitting = scores.gather(1, positives.clamp(min=0)).masked_fill(positives < 0, -1)
        answering.append(_best_of_message(fitting, tables.unit_message[positives.clamp(min=0)]) & (positives >= 0))
        own = tables.unit_conversation[None, :] == tables.question_conversation[index][:, None]
        # What scores clearly above the answer in another conversation is mostly the same text told again.
        foreign = scores.masked_fill(own | (scores > fitting.amax(1, keepdim=True) + 0.1), -torch.inf)
        anywhere.append(_nearest(foreign, depth))
    same = _within_conversations(tables, passages, questions, depth, text)
    return Negatives(same, torch.cat(anywhere), torch.cat(answering))


def _within_conversations(tables: Tables, passages: Tensor, questions: Tensor, depth: int, text: float) -> Tensor:
    conversations = range(len(tables.conversation_units) - 1)
    starts = torch.searchsorted(
        tables.question_conversation, torch.arange(len(conversations) + 1, device=questions.device)
    ).tolist()
    units = tables.conversation_units.tolist()
    nearest = []
    for number in conversations:
        asked, told = slice(starts[number], starts[number + 1]), slice(units[number], units[number + 1])
        ranked = (questions[asked] @ passages[told].T).float()
        if not ranked.numel():
            continue
        if text:
            matched = _matched(tables, asked, told).to(ranked.device)
            ranked = text * _scaled(matched) + (1 - text) * _scaled(ranked)
        positives = tables.positives[asked]
        rows = torch.arange(len(positives), device=positives.device)[:, None].expand_as(positives)
        ranked[rows[positives >= 0], positives[positives >= 0] - told.start] = -torch.inf
        found = _nearest(ranked, depth)
        nearest.append(found.where(found < 0, found + told.start))
    return torch.cat(nearest)


def _matched(tables: Tables, asked: slice, told: slice) -> Tensor:
    """How well the words of a conversation's questions fit each of its units, as recall has it."""
    lists = posting_lists(tables.unit_terms[told])
    return torch.from_numpy(np.stack([wording([lists], terms)[0].bm25 for terms in tables.question_terms[asked]]))


def autocast(device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


def _scaled(scores: Tensor) -> Tensor:
    low, high = scores.amin(1, keepdim=True), scores.amax(1, keepdim=True)
    return (scores - low) / (high - low).clamp(min=1e-6)


def _best_of_message(scores: Tensor, messages: Tensor) -> Tensor:
    rivals = (messages[:, :, None] == messages[:, None, :]) & (scores[:, None, :] > scores[:, :, None])
    return ~rivals.any(2)


def _nearest(scores: Tensor, depth: int) -> Tensor:
    values, units = scores.topk(min(depth, scores.shape[1]), dim=1)
    units = units.masked_fill(values == -torch.inf, -1)
    return torch.nn.functional.pad(units, (0, depth - units.shape[1]), value=-1)
