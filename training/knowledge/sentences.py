"""Fits what reads sentences that are not English: `python -m training.knowledge.sentences --out FOLDER`.

The embedder of other languages turns each labelled sentence into 384 numbers, in one space for all languages, and some
small networks side by side learn from these what the tagger says of English. It takes a few minutes on a CPU.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memorist.models.embedder import DIMENSIONS, OtherLanguages
from memorist.models.other_tags import FILE, OUTPUTS
from memorist.models.values import TOPICS
from training.knowledge.data import LANGUAGES, SESSIONS, Label, examples, load
from training.manifest import write_manifest

Floats = NDArray[np.float32]
Halves = NDArray[np.float16]

NETWORKS = 4
HIDDEN = 64
EPOCHS = 15
BATCH = 128
RATE = 2e-3
DECAY = 1e-3
DROPPED = 0.3
NOISE = 0.005
NOT_ENGLISH = 3.0
"""How much a sentence that is not English counts: there are few."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Sentences by their vectors, and what is to be said of each."""

    vectors: Floats
    wanted: Floats
    """Whether to keep it, should it be, must it be; then, where it is kept, its topic and what it needs, one of all."""
    weights: Floats


def labelled(sessions: Sequence[dict[str, object]], embedder: OtherLanguages) -> Labelled:
    texts: list[str] = []
    wanted: list[Floats] = []
    weights: list[float] = []
    for session in sessions:
        for example in examples([session]):
            for span, label in zip(example.passage.sentences, example.labels, strict=True):
                texts.append(example.passage.text[slice(*span)])
                wanted.append(_wanted(label))
                weights.append(1.0 if session["lang"] == "en" else NOT_ENGLISH)
    return Labelled(embedder.read(texts).vectors, np.stack(wanted), np.array(weights, dtype=np.float32))


def _wanted(label: Label) -> Floats:
    row = np.zeros(OUTPUTS, dtype=np.float32)
    row[:3] = [label.importance >= least for least in (1, 2, 3)]
    if label.importance:
        row[[3 + label.topic, 3 + len(TOPICS) + label.needs]] = 1
    return row


def fit(rows: Labelled, seed: int, *, hidden: int = HIDDEN, epochs: int = EPOCHS) -> list[Floats]:
    """The weights of one network with one hidden layer, by Adam."""
    random = np.random.default_rng(seed)
    shapes = ((DIMENSIONS, hidden), (hidden,), (hidden, OUTPUTS), (OUTPUTS,))
    found = [(random.normal(0, (2 / one[0]) ** 0.5, one) * (len(one) > 1)).astype(np.float32) for one in shapes]
    means, squares = ([np.zeros_like(one) for one in found] for _ in range(2))
    step = 0
    for epoch in range(epochs):
        order = random.permutation(len(rows.vectors))
        for start in range(0, len(order), BATCH):
            step += 1
            batch = order[start : start + BATCH]
            changes = _gradients(found, rows, batch, random)
            for one, change, mean, square in zip(found, changes, means, squares, strict=True):
                mean += 0.1 * (change - mean)
                square += 0.001 * (change**2 - square)
                moved = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
                one -= (RATE * (1 - epoch / epochs) * (moved + DECAY * one)).astype(np.float32)
    return found


def _gradients(
    weights: Sequence[Floats], rows: Labelled, batch: NDArray[np.int64], random: np.random.Generator
) -> list[Floats]:
    first, first_bias, second, second_bias = weights
    wanted = rows.wanted[batch]
    seen = rows.vectors[batch] + random.normal(0, NOISE, (len(batch), DIMENSIONS)).astype(np.float32)
    before = seen @ first + first_bias
    kept = (random.random(before.shape) > DROPPED).astype(np.float32) / (1 - DROPPED)
    inner = np.maximum(before, 0) * kept
    outputs = inner @ second + second_bias
    error = np.empty_like(outputs)
    error[:, :3] = 1 / (1 + np.exp(-outputs[:, :3])) - wanted[:, :3]
    for one in (slice(3, 3 + len(TOPICS)), slice(3 + len(TOPICS), OUTPUTS)):
        likely = np.exp(outputs[:, one] - outputs[:, one].max(axis=1, keepdims=True))
        error[:, one] = (likely / likely.sum(axis=1, keepdims=True) - wanted[:, one]) * wanted[:, :1]
    error *= (rows.weights[batch] / len(batch))[:, np.newaxis]
    through = (error @ second.T) * kept * (before > 0)
    return [seen.T @ through, through.sum(axis=0), inner.T @ error, error.sum(axis=0)]


def together(networks: Sequence[Sequence[Floats]]) -> tuple[Halves, Halves]:
    """Some networks as one, which says their mean: two tables, the last row of each being what is added."""
    first = np.concatenate([np.vstack([one[0], one[1]]) for one in networks], axis=1)
    second = np.concatenate([one[2] for one in networks]) / len(networks)
    added = np.mean([one[3] for one in networks], axis=0)
    return first.astype(np.float16), np.vstack([second, added]).astype(np.float16)


def write(networks: Sequence[Sequence[Floats]], folder: Path) -> None:
    first, second = together(networks)
    # One table: the second is as tall as the first is wide, and one row more.
    tall = max(len(first), len(second))
    both = [np.pad(one, ((0, tall - len(one)), (0, 0))) for one in (first, second)]
    np.save(folder / FILE, np.concatenate(both, axis=1))
    write_manifest(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="a folder with the other weights")
    out = parser.parse_args().out
    rows = labelled([*load(SESSIONS), *load(LANGUAGES)], OtherLanguages())
    write([fit(rows, seed) for seed in range(NETWORKS)], out)


if __name__ == "__main__":
    main()
