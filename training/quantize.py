"""Teaches the models the arithmetic that is shipped:
`python -m training.quantize NAME… --data FILE --trained FOLDER --out FOLDER`.

Each follows itself: what it says of our texts in full precision it has to say rounded as well (rounding.py). So
nothing new is learned, no label is needed, and vectors that were stored before stay as good as they were.
"""

import argparse
import copy
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Encoding, Tokenizer
from torch import Tensor, nn

from memorist.models.files import FOLDER
from memorist.models.passages import windows
from memorist.models.tagger import pair_of
from memorist.models.values import DatedFact
from training.data import Conversation, Unit, load_training, write_out
from training.encoder import EmbeddingModel, RerankingModel, load_trained, load_words, save_trained, trained_layers
from training.export import embedder_graph, reranker_graph
from training.knowledge.data import PAIRS, SESSIONS, examples, load, pairs
from training.knowledge.export import comparer_graph, tagger_graph
from training.knowledge.models import JudgingModel, TaggingModel
from training.knowledge.run import augmented, unlabelled
from training.manifest import write_manifest
from training.rounding import round_encoder, set_ranges
from training.torch_models import LIMIT, device, padded

Texts = Sequence[str] | Sequence[tuple[str, str]]
_SET_APART = 384
"""Texts that ranges are taken from, and as many to compare on."""
_AT_ONCE = 16


@dataclass(frozen=True)
class Recipe:
    steps: int = 2500
    tokens: int = 16_384
    """In a batch, padding counted."""
    rate: float = 3e-5
    range_rate: float = 3e-4
    warm_up: float = 0.04
    share_of_states: float = 1.0
    """How much the states of all tokens count beside what is said in the end."""


# What each model reads


def passages(conversations: Sequence[Conversation], count: int, order: random.Random) -> list[str]:
    """Passages as they are embedded, some without what stands around them, and questions."""
    found: list[str] = []
    while len(found) < count:
        conversation, unit = _drawn(conversations, order)
        found.append(write_out([conversation], unit, "bare" if order.random() < 0.15 else "embedded"))
        if conversation.questions and order.random() < 0.5:
            found.append(order.choice(conversation.questions).text)
    return found


def questions_and_passages(
    conversations: Sequence[Conversation], count: int, order: random.Random
) -> list[tuple[str, str]]:
    """A question with its answer, with the likeliest of some passages beside it, and with one from elsewhere."""
    asked = [one for one in conversations if one.questions]
    found: list[tuple[str, str]] = []
    while len(found) < count:
        conversation = order.choice(asked)
        question = order.choice(conversation.questions)
        words = set(question.text.lower().split())
        places = {*order.sample(range(len(conversation.messages)), min(12, len(conversation.messages)))}
        likely = sorted(places, key=lambda at: -len(words & {*conversation.messages[at].text.lower().split()}))
        units = [_unit(conversation, at, order) for at in (order.choice(question.evidence), *likely[:3])]
        found += [(question.text, write_out([conversation], unit, "reranked")) for unit in units if unit]
        other, unit = _drawn(conversations, order)
        found.append((question.text, write_out([other], unit, "reranked")))
    return found


def messages(order: random.Random) -> list[tuple[str, str]]:
    """A message after the one before it, as the tagger reads it."""
    found = [pair_of(one.passage) for one in examples(load(SESSIONS))]
    order.shuffle(found)
    return found


def facts(order: random.Random) -> list[tuple[str, str]]:
    rows = pairs(load(PAIRS))
    found = []
    for row in [*augmented(rows), *unlabelled(rows)]:
        older, newer = (row.older_time, row.newer_time) if order.random() > 1 / 3 else ("", "")
        found.append((DatedFact(row.older, older).shown(), DatedFact(row.newer, newer).shown()))
    order.shuffle(found)
    return found


def _drawn(conversations: Sequence[Conversation], order: random.Random) -> tuple[Conversation, Unit]:
    while True:
        conversation = order.choice(conversations)
        if unit := _unit(conversation, order.randrange(len(conversation.messages)), order):
            return conversation, unit


def _unit(conversation: Conversation, at: int, order: random.Random) -> Unit | None:
    cut = list(windows(conversation.messages[at].text))
    return Unit(0, at, order.choice(cut)) if cut else None


# The models, and what each says of the states of its tokens


@dataclass(frozen=True)
class Subject:
    model: Callable[..., nn.Module]
    said: Callable[[Any, Tensor, Tensor], Tensor]
    """From the states and the mask: what has to stay as it was."""
    texts: Callable[[Sequence[Conversation], int, random.Random], Texts]
    table: str = "word"
    tokenizer: str = "tokenizer.json"


def _mean(hidden: Tensor, mask: Tensor) -> Tensor:
    kept = mask.unsqueeze(-1)
    return (hidden * kept).sum(1) / kept.sum(1)


SUBJECTS = {
    "embedder": Subject(
        EmbeddingModel, lambda _, hidden, mask: 20 * F.normalize(_mean(hidden, mask), dim=-1), passages
    ),
    "reranker": Subject(RerankingModel, lambda model, hidden, _: model.head(hidden[:, 0]), questions_and_passages),
    "tagger": Subject(TaggingModel, lambda model, hidden, _: model.head(hidden), lambda _, __, order: messages(order)),
    "comparer": Subject(
        JudgingModel,
        lambda model, hidden, mask: model.head(_mean(hidden, mask)),
        lambda _, __, order: facts(order),
        "many",
        "many_tokenizer.json",
    ),
}
GRAPHS = {
    "embedder": embedder_graph,
    "many_embedder": embedder_graph,
    "reranker": reranker_graph,
    "tagger": tagger_graph,
    "comparer": comparer_graph,
}


# The training


def batches(encodings: Sequence[Encoding], tokens: int, order: random.Random) -> Iterator[list[Encoding]]:
    """For ever: batches of texts of about one length, in any order."""
    by_length = sorted(encodings, key=len)
    cut: list[list[Encoding]] = [[]]
    for one in by_length:
        if cut[-1] and (len(cut[-1]) + 1) * len(one) > tokens:
            cut.append([])
        cut[-1].append(one)
    while True:
        order.shuffle(cut)
        yield from cut


def follow(teacher: nn.Module, student: nn.Module, subject: Subject, rows: Sequence[Encoding], recipe: Recipe) -> None:
    """Train the rounded student until it says what the teacher says."""
    order, where = random.Random(1), device()
    ranges = [value for name, value in student.named_parameters() if name.endswith((".low", ".high"))]
    weights = [value for name, value in student.encoder.named_parameters() if not name.endswith((".low", ".high"))]
    groups = [{"params": weights, "lr": recipe.rate}, {"params": ranges, "lr": recipe.range_rate, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0, betas=(0.9, 0.98))
    warm = max(1, int(recipe.steps * recipe.warm_up))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (recipe.steps - step) / max(1, recipe.steps - warm)))
    )
    drawn = batches(rows, recipe.tokens, order)
    began = time.monotonic()
    for step in range(recipe.steps):
        ids, mask, types = padded(next(drawn), where)
        with torch.no_grad():
            wanted = teacher.encoder(ids, mask, types)
        hidden = student.encoder(ids, mask, types)
        states, said = _differences(teacher, student, subject, wanted, hidden, mask)
        loss = said + recipe.share_of_states * states
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % max(1, recipe.steps // 20) == 0:
            print(f"[{time.monotonic() - began:.0f} s] step {step}: states {states:.4f}, said {said:.5f}", flush=True)


def _differences(
    teacher: nn.Module, student: nn.Module, subject: Subject, wanted: Tensor, hidden: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor]:
    """Mean squares of how states differ, as a share of theirs, and of how what is said of them differs."""
    kept = mask.unsqueeze(-1)
    states = ((hidden - wanted) ** 2 * kept).sum() / (wanted**2 * kept).sum()
    before, now = subject.said(teacher, wanted, mask), subject.said(student, hidden, mask)
    return states, F.mse_loss(now, before)


@torch.no_grad()
def report(name: str, teacher: nn.Module, student: nn.Module, subject: Subject, held: Sequence[list[Encoding]]) -> None:
    said = []
    for batch in held:
        ids, mask, types = padded(batch, device())
        both = [subject.said(model, model.encoder(ids, mask, types), mask) for model in (teacher, student)]
        said.append([one[mask] if one.ndim == 3 else one for one in both])
    before, now = (torch.cat([one[side] for one in said]).float() for side in (0, 1))
    alike = F.cosine_similarity(before, now) if before.shape[1] > 1 else torch.zeros(1)
    apart = (before - now).abs()
    print(
        f"{name}: cosine mean {alike.mean():.4f}, lowest {alike.min():.4f}; "
        f"apart by {apart.mean():.4f} on average, {apart.max():.3f} at most, where they spread by {before.std():.3f}",
        flush=True,
    )


def quantize(
    name: str, conversations: Sequence[Conversation], trained: Path, out: Path, recipe: Recipe, words: Path = FOLDER
) -> nn.Module:
    """Teach one model, and write its parts and its graph, with its words beside it. `trained` has it in full precision,
    and `words` its table of words.
    """
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    subject, order = SUBJECTS[name], random.Random(2)
    teacher = _of_trained(name, trained, words)
    load_trained(teacher, trained, name)
    teacher.to(device()).eval()
    student = copy.deepcopy(teacher)
    round_encoder(student.encoder)
    student.to(device())
    rows = _encoded(subject, words, subject.texts(conversations, 60 * recipe.steps, order))
    order.shuffle(rows)
    apart = min(_SET_APART, len(rows) // 4)
    held, calibrating, rest = rows[:apart], rows[apart : 2 * apart], rows[2 * apart :]
    with torch.no_grad():
        set_ranges(student.encoder, lambda: [student.encoder(*padded(batch, device())) for batch in _few(calibrating)])
    print(f"{name}: {len(rest)} texts", flush=True)
    report(f"{name}, rounded", teacher, student, subject, _few(held))
    follow(teacher, student, subject, rest, recipe)
    report(f"{name}, taught", teacher, student, subject, _few(held))
    save_trained(student, out, name)
    write_graph(name, student, out)
    for file in (f"{subject.table}_rows.npy", f"{subject.table}_scales.npy", subject.tokenizer):
        shutil.copy(words / file, out)
    write_manifest(out)
    return student


def _of_trained(name: str, trained: Path, words: Path) -> nn.Module:
    """A model of its shape, with its words alone."""
    table = SUBJECTS[name].table
    count = len(np.load(words / f"{table}_scales.npy"))
    model = SUBJECTS[name].model(trained_layers(trained, name), vocabulary=count)
    load_words(model.encoder, words, table)
    return model


def _encoded(subject: Subject, folder: Path, texts: Texts) -> list[Encoding]:
    tokenizer = Tokenizer.from_file(str(folder / subject.tokenizer))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LIMIT, strategy="longest_first")
    return [one for one in tokenizer.encode_batch(list(texts)) if len(one) > 2]


def _few(rows: Sequence[Encoding]) -> list[list[Encoding]]:
    by_length = sorted(rows, key=len)
    return [by_length[start : start + _AT_ONCE] for start in range(0, len(by_length), _AT_ONCE)]


def taught(name: str, trained: Path, words: Path = FOLDER) -> nn.Module:
    """A model as `quantize` wrote it. Raises FileNotFoundError."""
    model = _of_trained(name, trained, words)
    round_encoder(model.encoder)
    load_trained(model, trained, name)
    return model.eval()


def write_graph(name: str, student: nn.Module, to: Path) -> None:
    (to / f"{name}.onnx").write_bytes(GRAPHS[name](student.cpu().eval()).SerializeToString())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=SUBJECTS)
    parser.add_argument("--data", type=Path, required=True, help="what `training.prepare` wrote")
    parser.add_argument(
        "--trained", type=Path, required=True, help="what training.run, .distil or .knowledge.run wrote"
    )
    parser.add_argument("--words", type=Path, default=FOLDER, help="folder with the tables of words")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    parser.add_argument("--rate", type=float, default=Recipe.rate)
    parser.add_argument("--range-rate", type=float, default=Recipe.range_rate)
    arguments = parser.parse_args()
    told = [one for one in load_training(arguments.data) if not one.source.startswith("own")]
    recipe = Recipe(arguments.steps, rate=arguments.rate, range_rate=arguments.range_rate)
    for name in arguments.names:
        quantize(name, told, arguments.trained, arguments.out, recipe, arguments.words)


if __name__ == "__main__":
    main()
