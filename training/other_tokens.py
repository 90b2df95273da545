"""Trains what the embedder of other languages says of single tokens: `python -m training.other_tokens --data FILE`.

As in tokens.py a product reads the states of its tokens, and the embedder itself stays as it is. Its numbers must agree
with those of the English embedder, whose head stays as it is too: a question in one language is compared with memories
in another. English lists are read by both embedders, each question against the passages of either, and follow the
reranker; conversations in other languages have no reranker to follow, only the messages that answer.
"""

import argparse
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from memorist.languages import is_english
from memorist.models.files import FOLDER
from training.data import FORMS, Conversation, cut_into_units, load_training, write_out
from training.encoder import EmbeddingModel, RerankingModel
from training.knowledge.base import LAYERS
from training.languages import NAME, tokenizer, with_words
from training.mining import autocast, mine
from training.sampling import Sampler
from training.shipped import load_shipped
from training.tables import PASSAGE_TOKENS, Rows, Tables, build_tables, mask_of, with_cls
from training.tokens import (
    BARE,
    GOLD,
    TAPS,
    TRAINED,
    TokenHead,
    add_to,
    drawn,
    load_head,
    save_head,
    shipped,
    token_states,
)
from training.torch_models import TOKENIZER, device
from training.train import rerank_units

OTHERS_TRAINED = Path(__file__).parent / "other_token_head.safetensors"
"""What a run of the defaults gave, which the shipped embedder of other languages has."""
OTHER_TAPS = (4, 8, 12)
RATE = 1e-3
WARM_UP = 100
ENGLISH = 80
"""English questions a step, each with 22 passages."""
FOREIGN = 48
WRONG = 15
"""Messages of its conversation that a question in another language has beside its answer."""
APART = 16
"""One conversation in so many is not learned from, but measured on. The embedder itself learned from all, so that what
is measured only shows that nothing broke.
"""


@dataclass(frozen=True)
class Foreign:
    """Messages in other languages, and questions about them."""

    units: Rows
    questions: Rows
    english: Rows
    """The questions as the English embedder reads them."""
    in_english: Tensor
    """Which questions are read by that one."""
    answers: list[list[int]]
    others: list[list[int]]
    apart: list[int]
    """The questions that are measured on."""


@dataclass(frozen=True)
class Reader:
    """An embedder that stays as it is, and its head."""

    model: EmbeddingModel
    head: TokenHead
    taps: Sequence[int]

    def tokens(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad(), autocast(ids.device):
            states = token_states(self.model.encoder, ids, mask, self.taps)
        return self.head(states)


def rows_of(texts: Sequence[str], encode: Tokenizer) -> Rows:
    """As the embedder of a tokenizer reads them, from the first token to the last."""
    found = [encoding.ids for encoding in encode.encode_batch(list(texts))]
    table = np.zeros((len(found), max(map(len, found))), dtype=np.int32)
    for row, ids in enumerate(found):
        table[row, : len(ids)] = ids
    lengths = np.array([len(ids) for ids in found])
    return Rows(torch.from_numpy(table).to(device()), torch.from_numpy(lengths).to(device()))


def foreign_of(conversations: Sequence[Conversation], ours: Tokenizer, english: Tokenizer) -> Foreign:
    units = cut_into_units(conversations)
    texts = [write_out(conversations, unit, "embedded") for unit in units]
    of: list[list[tuple[int, int]]] = [[] for _ in conversations]
    for number, unit in enumerate(units):
        if not is_english(texts[number]):
            of[unit.conversation].append((number, unit.message))
    asked, answers, others, apart = [], [], [], []
    for number, conversation in enumerate(conversations):
        for question in conversation.questions:
            right = [unit for unit, message in of[number] if message in question.evidence]
            if right and len(right) < len(of[number]):
                if number % APART == 0:
                    apart.append(len(asked))
                asked.append(question.text)
                answers.append(right)
                others.append([unit for unit, message in of[number] if message not in question.evidence])
    in_english = torch.tensor([is_english(text) for text in asked], device=device())
    return Foreign(
        rows_of(texts, ours), rows_of(asked, ours), rows_of(asked, english), in_english, answers, others, apart
    )


class English:
    """Lists of English passages, and what the reranker says of them."""

    def __init__(self, conversations: Sequence[Conversation], ours: Tokenizer, folder: Path) -> None:
        self.tables: Tables = build_tables(conversations, TOKENIZER, FORMS, device())
        self.embedder: EmbeddingModel
        self.reranker: RerankingModel
        self.embedder, self.reranker = shipped(folder)
        self.sampler = Sampler(self.tables, mine(self.embedder, self.tables), seed=11)
        units = cut_into_units(conversations)
        self.units = {
            form: rows_of([write_out(conversations, unit, form) for unit in units], ours)
            for form in ("bare", "embedded")
        }
        self.questions = rows_of([one.text for each in conversations for one in each.questions], ours)

    def wanted(self, questions: Tensor, units: Tensor, empty: Tensor, form: str) -> Tensor:
        read = "bare" if form == "bare" else "reranked"
        with torch.no_grad(), autocast(units.device):
            scores = rerank_units(self.reranker, self.tables, questions, units, read)
        return scores.float().masked_fill(empty, -1e4)


def english_loss(ours: Reader, theirs: Reader, data: English, form: str, count: int) -> Tensor:
    questions, units, empty = drawn(data.sampler, count)
    wanted = data.wanted(questions, units, empty, form)
    asked, lengths = data.tables.questions.take(questions)
    told = with_cls(*data.tables.passages[form].take(units.flatten(), room=1))
    by_theirs = _asking(theirs, asked, mask_of(lengths, asked.shape[1])), _telling(theirs, *told, units)
    by_ours = (
        _asking(ours, *_taken(data.questions, questions)),
        _telling(ours, *_taken(data.units[form], units.flatten()), units),
    )
    losses = []
    for asking, telling in ((by_ours, by_ours), (by_ours, by_theirs), (by_theirs, by_ours)):
        scores = ours.head.agreement(*asking[0], *telling[1]).masked_fill(empty, -1e4)
        losses.append(F.cross_entropy(scores, wanted.softmax(1)) + GOLD * F.cross_entropy(scores, _first(count)))
    return torch.stack(losses).mean()


def foreign_loss(ours: Reader, theirs: Reader, data: Foreign, drawn: Sequence[int], order: random.Random) -> Tensor:
    rows = [
        [order.choice(data.answers[one]), *order.sample(data.others[one], min(WRONG, len(data.others[one])))]
        for one in drawn
    ]
    units = torch.tensor([row + [-1] * (1 + WRONG - len(row)) for row in rows], device=device())
    empty, units = units < 0, units.clamp(min=0)
    telling = _telling(ours, *_taken(data.units, units.flatten()), units)
    chosen = torch.tensor(list(drawn), device=device())
    losses = []
    for reader, questions, read in ((ours, data.questions, ~data.in_english), (theirs, data.english, data.in_english)):
        part = read[chosen].nonzero().squeeze(1)
        if part.numel():
            asking = _asking(reader, *_taken(questions, chosen[part]))
            scores = ours.head.agreement(*asking, *(one[part] for one in telling)).masked_fill(empty[part], -1e4)
            losses.append(F.cross_entropy(scores, _first(len(part)), reduction="sum"))
    return torch.stack(losses).sum() / len(drawn)


def _taken(rows: Rows, index: Tensor) -> tuple[Tensor, Tensor]:
    ids, lengths = rows.take(index)
    return ids, mask_of(lengths, ids.shape[1])


def _asking(reader: Reader, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    numbers, weights = reader.tokens(ids, mask)
    return numbers, weights * mask


def _telling(reader: Reader, ids: Tensor, mask: Tensor, units: Tensor) -> tuple[Tensor, Tensor]:
    numbers, _ = reader.tokens(ids, mask)
    return numbers.view(*units.shape, *numbers.shape[1:]), mask.view(*units.shape, -1)


def _first(count: int) -> Tensor:
    return torch.zeros(count, dtype=torch.long, device=device())


def train(ours: Reader, theirs: Reader, english: English, foreign: Foreign, steps: int, seed: int) -> None:
    optimizer = torch.optim.AdamW(ours.head.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / WARM_UP) * (1 - step / steps)
    )
    order = random.Random(seed)
    learned = sorted(set(range(len(foreign.answers))) - set(foreign.apart))
    began, shown, every = time.monotonic(), np.zeros(2), max(1, steps // 20)
    for step in range(steps):
        form = "bare" if order.random() < BARE else "embedded"
        losses = (
            english_loss(ours, theirs, english, form, ENGLISH),
            foreign_loss(ours, theirs, foreign, order.sample(learned, min(FOREIGN, len(learned))), order),
        )
        optimizer.zero_grad(set_to_none=True)
        (losses[0] + losses[1]).backward()
        nn.utils.clip_grad_norm_(ours.head.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        shown += [float(loss.detach()) for loss in losses]
        if (step + 1) % every == 0:
            spent = time.monotonic() - began
            print(f"  step {step + 1} of {steps}, losses {(shown / every).round(4)}, {spent:.0f} s", flush=True)
            shown[:] = 0


@torch.no_grad()
def measure(ours: Reader, theirs: Reader, foreign: Foreign) -> str:
    """Mean reciprocal ranks of the first answer among all messages of the conversations apart: by vectors, by tokens,
    and by the sum of both, of questions that either embedder reads.
    """
    units = sorted({unit for one in foreign.apart for unit in foreign.answers[one] + foreign.others[one]})
    index = torch.tensor(units, device=device())
    vectors, tokens, masks = [], [], []
    for part in index.split(256 if index.is_cuda else 8):  # Without an accelerator rows are kept apart by a mask.
        ids, mask = _taken(foreign.units, part)
        width = foreign.units.tokens.shape[1] - ids.shape[1]
        vectors.append(ours.model(ids, mask))
        tokens.append(F.pad(ours.tokens(ids, mask)[0], (0, 0, 0, width)))
        masks.append(F.pad(mask, (0, width)))
    told, numbers, known = torch.cat(vectors), torch.cat(tokens), torch.cat(masks)
    ranks: dict[str, list[float]] = {}
    for one in foreign.apart:
        reader, questions = (theirs, foreign.english) if foreign.in_english[one] else (ours, foreign.questions)
        ids, mask = _taken(questions, torch.tensor([one], device=device()))
        dense = (told @ reader.model(ids, mask)[0]).float()
        agreed = ours.head.agreement(*_asking(reader, ids, mask), numbers[None], known[None])[0]
        right = torch.tensor([unit in foreign.answers[one] for unit in units], device=device())
        kind = "english" if foreign.in_english[one] else "other"
        for name, scores in (("vectors", dense), ("tokens", agreed), ("both", _scaled(dense) + _scaled(agreed))):
            best = scores[right].max()
            ranks.setdefault(f"{kind} {name}", []).append(1 / (1 + int((scores > best).sum())))
    return ", ".join(f"{name} {np.mean(found):.3f} ({len(found)})" for name, found in sorted(ranks.items()))


def _scaled(scores: Tensor) -> Tensor:
    """Over the range of the best 50, as recall has it."""
    low = scores.topk(min(50, len(scores))).values[-1]
    return (scores - low) / (scores.max() - low).clamp(min=1e-6)


def readers(folder: Path, head: TokenHead) -> tuple[Reader, Reader]:
    """That of other languages with `head`, and the English one with its own."""
    many = with_words(folder, layers=LAYERS)
    load_shipped(many.encoder, NAME, folder, "many")
    for layer in many.encoder.layers:
        layer.gelu = "tanh"
    known = TokenHead()
    load_head(known, TRAINED)
    known.to(device()).eval().requires_grad_(False)
    english, _ = shipped(folder)
    return (
        Reader(many.to(device()).eval().requires_grad_(False), head, OTHER_TAPS),
        Reader(english, known, TAPS),
    )


def run(conversations: Sequence[Conversation], folder: Path, steps: int, seed: int) -> TokenHead:
    torch.manual_seed(seed)
    torch.set_float32_matmul_precision("high")
    ours, english = tokenizer(folder / "many_tokenizer.json"), tokenizer(TOKENIZER)
    for one in (ours, english):
        one.enable_truncation(PASSAGE_TOKENS)
    foreign = foreign_of([one for one in conversations if one.source.startswith("own")], ours, english)
    lists = English([one for one in conversations if not one.source.startswith("own")], ours, folder)
    print(f"{len(foreign.answers)} questions in other languages, {len(foreign.apart)} of them apart", flush=True)
    head = TokenHead().to(device()).train()
    others, known = readers(folder, head)
    train(others, known, lists, foreign, steps, seed)
    head.eval()
    print(measure(others, known, foreign), flush=True)
    return head


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="what `prepare --languages` wrote; without it --out is read")
    parser.add_argument("--out", type=Path, default=OTHERS_TRAINED, help="the head, as a safetensors file")
    parser.add_argument("--weights", type=Path, default=FOLDER, help="the models that it follows")
    parser.add_argument("--add-to", type=Path, help="folder of weights whose embedder of other languages gets the head")
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--seed", type=int, default=11)
    arguments = parser.parse_args()
    if arguments.data is not None:
        save_head(run(load_training(arguments.data), arguments.weights, arguments.steps, arguments.seed), arguments.out)
    if arguments.add_to is not None:
        head = TokenHead()
        load_head(head, arguments.out)
        add_to(arguments.add_to, head, NAME, OTHER_TAPS)


if __name__ == "__main__":
    main()
