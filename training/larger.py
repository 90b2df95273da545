"""MPNet as a reranker: twice as wide and twice as deep as what is shipped, which learns from it.

It reads the rows that the small one reads: the words of both vocabularies are the same, in another order. It is never
shipped; `python -m training.larger --base FOLDER --to FOLDER` rounds the base to bytes, so that it travels light.
"""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from training.encoder import quantize_rows
from training.torch_models import TOKENIZER

_SPECIAL = {"[PAD]": "<pad>", "[UNK]": "[UNK]", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}
_FIRST_POSITION = 2
_BUCKETS, _FARTHEST = 32, 128
_PART_BYTES = 50_000_000


@dataclass(frozen=True)
class LargerShape:
    layers: int
    width: int
    heads: int
    inner: int
    vocabulary: int
    positions: int


class LargerLayer(nn.Module):
    def __init__(self, shape: LargerShape, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = shape.heads, dropout
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.out = nn.Linear(shape.width, shape.width)
        self.attention_norm = nn.LayerNorm(shape.width, eps=1e-5)
        self.up = nn.Linear(shape.width, shape.inner)
        self.down = nn.Linear(shape.inner, shape.width)
        self.output_norm = nn.LayerNorm(shape.width, eps=1e-5)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).reshape(x.shape)
        x = _normed(self.attention_norm, x + F.dropout(self.out(attended), self.dropout, self.training))
        inner = self.down(F.gelu(self.up(x)))
        return _normed(self.output_norm, x + F.dropout(inner, self.dropout, self.training))


class LargerReranker(nn.Module):
    """Takes rows as `tables.paired` makes them, with the numbers of our own vocabulary."""

    padding_costs = True

    def __init__(self, shape: LargerShape, dropout: float = 0.1) -> None:
        super().__init__()
        self.words = nn.Embedding(shape.vocabulary, shape.width)
        self.words.weight.requires_grad_(False)
        self.positions = nn.Parameter(torch.zeros(shape.positions, shape.width))
        self.types = nn.Parameter(torch.zeros(2, shape.width))
        """Which part is the question: the base does not know of it, so it begins with zeros."""
        self.register_buffer("distances", torch.zeros(_BUCKETS, shape.heads))
        self.register_buffer("theirs", torch.zeros(30522, dtype=torch.long))
        """The number that a word of ours has in its vocabulary."""
        self.norm = nn.LayerNorm(shape.width, eps=1e-5)
        self.layers = nn.ModuleList(LargerLayer(shape, dropout) for _ in range(shape.layers))
        self.head = nn.Linear(shape.width, 1)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        first, second = self.types
        kinds = first + types.unsqueeze(-1) * (second - first)
        x = _normed(self.norm, self.words(self.theirs[ids]) + self.positions[: ids.shape[1]] + kinds)
        x = x.bfloat16() if torch.is_autocast_enabled(x.device.type) else x
        bias = self.distances[_buckets(ids.shape[1], ids.device)].permute(2, 0, 1)[None]
        bias = bias.masked_fill(~mask[:, None, None, :], -torch.inf).to(x.dtype)
        for layer in self.layers:
            x = layer(x, bias)
        return self.head(x[:, 0]).squeeze(-1).float()


def _normed(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    """In the precision of what it is given: half the memory traffic."""
    with torch.autocast(x.device.type, enabled=False):
        return F.layer_norm(x, norm.normalized_shape, norm.weight.to(x.dtype), norm.bias.to(x.dtype), norm.eps)


def _buckets(length: int, device: torch.device) -> Tensor:
    """How far apart two tokens are, in steps that grow with the distance; the two directions apart."""
    places = torch.arange(length, device=device)
    apart = places[:, None] - places[None, :]
    half = _BUCKETS // 2
    exact = half // 2
    far = apart.abs()
    grown = exact + (torch.log(far.clamp(min=1) / exact) / math.log(_FARTHEST / exact) * (half - exact)).long()
    return (apart < 0).long() * half + torch.where(far < exact, far, grown.clamp(max=half - 1))


def load_larger(folder: Path) -> LargerReranker:
    """A reranker that begins with the weights of all-mpnet-base-v2, as published or as `travelling` rounded them.

    Raises FileNotFoundError.
    """
    raw = _read(folder)
    model = LargerReranker(_shape_of(raw))
    state = model.state_dict()
    state["words.weight"] = raw["embeddings.word_embeddings.weight"]
    state["positions"] = raw["embeddings.position_embeddings.weight"][_FIRST_POSITION:]
    state["distances"] = raw["encoder.relative_attention_bias.weight"]
    state["theirs"] = _numbers(Tokenizer.from_file(str(folder / "tokenizer.json")))
    names = {
        "out": "attention.attn.o",
        "attention_norm": "attention.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "output_norm": "output.LayerNorm",
    }
    for kind in ("weight", "bias"):
        state[f"norm.{kind}"] = raw[f"embeddings.LayerNorm.{kind}"]
        for number in range(len(model.layers)):
            theirs, ours = f"encoder.layer.{number}.", f"layers.{number}."
            state[f"{ours}qkv.{kind}"] = torch.cat([raw[f"{theirs}attention.attn.{part}.{kind}"] for part in "qkv"])
            for own, other in names.items():
                state[f"{ours}{own}.{kind}"] = raw[f"{theirs}{other}.{kind}"]
    model.load_state_dict(state)
    return model


def _shape_of(raw: Mapping[str, Tensor]) -> LargerShape:
    words = raw["embeddings.word_embeddings.weight"]
    return LargerShape(
        layers=sum(name.endswith(".intermediate.dense.bias") for name in raw),
        width=words.shape[1],
        heads=raw["encoder.relative_attention_bias.weight"].shape[1],
        inner=len(raw["encoder.layer.0.intermediate.dense.bias"]),
        vocabulary=len(words),
        positions=len(raw["embeddings.position_embeddings.weight"]) - _FIRST_POSITION,
    )


def _numbers(theirs: Tokenizer) -> Tensor:
    ours = Tokenizer.from_file(str(TOKENIZER)).get_vocab()
    numbers, unknown = torch.zeros(len(ours), dtype=torch.long), theirs.token_to_id("[UNK]")
    for word, number in ours.items():
        found = theirs.token_to_id(_SPECIAL.get(word, word))
        numbers[number] = unknown if found is None else found
    return numbers


def _read(folder: Path) -> dict[str, Tensor]:
    """Raises FileNotFoundError."""
    raw: dict[str, Tensor] = {}
    for path in sorted(folder.glob("*.safetensors")):
        raw |= load_file(path)
    if not raw:
        raise FileNotFoundError(f"no model in {folder}")
    scales = {name.removesuffix(":scales"): scale for name, scale in raw.items() if name.endswith(":scales")}
    return {
        name: tensor * scales[name][:, None] if name in scales else tensor.float()
        for name, tensor in raw.items()
        if not name.endswith(":scales")
    }


def travelling(folder: Path, to: Path) -> Sequence[Path]:
    """Write the base with its matrices as bytes and a scale a row, in parts."""
    to.mkdir(parents=True, exist_ok=True)
    parts: list[dict[str, Tensor]] = [{}]
    for name, tensor in _read(folder).items():
        if name.startswith("pooler") or name.endswith("position_ids"):
            continue
        rounded, scales = quantize_rows(tensor) if tensor.ndim == 2 and len(tensor) > _BUCKETS else (tensor, None)
        if sum(one.nbytes for one in parts[-1].values()) + rounded.nbytes > _PART_BYTES:
            parts.append({})
        parts[-1][name] = rounded.contiguous()
        if scales is not None:
            parts[-1][f"{name}:scales"] = scales
    (to / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    paths = [to / f"model-{number}.safetensors" for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        save_file(part, path)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="folder with all-mpnet-base-v2")
    parser.add_argument("--to", type=Path, required=True)
    arguments = parser.parse_args()
    for path in travelling(arguments.base, arguments.to):
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
