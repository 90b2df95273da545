"""The MiniLM encoder in plain PyTorch: small enough to read, and the very graph that is exported.

Word embeddings are kept as int8 rows with a scale each, and are never trained: so the two models share one table,
and exporting it loses nothing.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.attention.varlen import varlen_attn

WIDTH, HEADS, INNER, LAYERS = 384, 12, 1536, 6
PART_BYTES = 15_000_000


class Norm(nn.LayerNorm):
    """A layer norm that keeps the precision of what it is given: in mixed precision half the memory traffic."""

    def __init__(self) -> None:
        super().__init__(WIDTH, eps=1e-12)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            return F.layer_norm(x, (WIDTH,), self.weight.to(x.dtype), self.bias.to(x.dtype), self.eps)


class Layer(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.gelu = "none"
        """Which form of it: `tanh` is what is exported."""
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.attention_norm = Norm()
        self.up = nn.Linear(WIDTH, INNER)
        self.down = nn.Linear(INNER, WIDTH)
        self.output_norm = Norm()

    def forward(self, x: Tensor, mask: Tensor, first_only: bool = False) -> Tensor:
        """The next state of the tokens, or of the first of them; it attends to all."""
        batch, length, _ = x.shape
        if first_only:
            asking = x[:, :1]
            weight, bias = self.qkv.weight, self.qkv.bias
            q = _heads(F.linear(asking, weight[:WIDTH], bias[:WIDTH]), 1)[0]
            k, v = _heads(F.linear(x, weight[WIDTH:], bias[WIDTH:]), 2)
        else:
            asking = x
            q, k, v = _heads(self.qkv(x), 3)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.expand(batch, 1, asking.shape[1], length))
        return self._after(asking, attended.transpose(1, 2).reshape(asking.shape))

    def packed(self, x: Tensor, starts: Tensor, longest: int) -> Tensor:
        """The next state of the tokens of rows without padding, which begin and end at `starts`."""
        q, k, v = self.qkv(x).view(-1, 3, HEADS, WIDTH // HEADS).unbind(1)
        return self._after(x, attend_packed(q, k, v, starts, starts, longest, longest).reshape(x.shape))

    def packed_firsts(self, x: Tensor, starts: Tensor, longest: int) -> Tensor:
        """The next state of the first token of each row alone."""
        asking = x.index_select(0, starts[:-1])
        weight, bias = self.qkv.weight, self.qkv.bias
        q = F.linear(asking, weight[:WIDTH], bias[:WIDTH]).view(-1, HEADS, WIDTH // HEADS)
        k, v = F.linear(x, weight[WIDTH:], bias[WIDTH:]).view(-1, 2, HEADS, WIDTH // HEADS).unbind(1)
        one_each = torch.arange(len(starts), device=x.device, dtype=torch.int32)
        return self._after(asking, attend_packed(q, k, v, one_each, starts, 1, longest).reshape(asking.shape))

    def _after(self, asking: Tensor, attended: Tensor) -> Tensor:
        x = self.attention_norm(asking + F.dropout(self.out(attended), self.dropout, self.training))
        inner = self.down(F.gelu(self.up(x), approximate=self.gelu))
        return self.output_norm(x + F.dropout(inner, self.dropout, self.training))


def attend_packed(
    q: Tensor, k: Tensor, v: Tensor, asking: Tensor, asked: Tensor, most_asking: int, most_asked: int
) -> Tensor:
    """Attention of rows of unequal length that lie one after the other; without an accelerator by one wide mask."""
    if q.is_cuda:
        return varlen_attn(q, k, v, asking, asked, most_asking, most_asked)
    row_of_query, row_of_key = _rows_of(asking), _rows_of(asked)
    mask = row_of_query[:, None] == row_of_key[None, :]
    q, k, v = (part.transpose(0, 1) for part in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(0, 1)


def _rows_of(starts: Tensor) -> Tensor:
    """The row of each token."""
    lengths = starts.diff()
    return torch.arange(len(lengths), device=starts.device).repeat_interleave(lengths)


def _heads(x: Tensor, parts: int) -> Tensor:
    batch, length, _ = x.shape
    return x.view(batch, length, parts, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)


class Encoder(nn.Module):
    def __init__(
        self, layers: int = LAYERS, dropout: float = 0.1, vocabulary: int = 30522, positions: int = 512
    ) -> None:
        super().__init__()
        self.register_buffer("word_rows", torch.zeros(vocabulary, WIDTH, dtype=torch.int8))
        self.register_buffer("word_scales", torch.zeros(vocabulary))
        self.positions = nn.Parameter(torch.zeros(positions, WIDTH))
        self.types = nn.Parameter(torch.zeros(2, WIDTH))
        self.norm = Norm()
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(layers))

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor | None = None, first_only: bool = False) -> Tensor:
        """The last states of all tokens, or of the first token alone."""
        x = self._begin(ids, types)
        attention_mask = mask[:, None, None, :]
        *before, last = self.layers
        for layer in before:
            x = layer(x, attention_mask)
        return last(x, attention_mask, first_only)

    def packed(
        self, ids: Tensor, mask: Tensor, types: Tensor | None = None, first_only: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The same without computing the padding, which is faster on an accelerator; and where each row begins."""
        # An index of rows: the gradient of a mask would be summed one by one.
        x = self._begin(ids, types).flatten(0, 1).index_select(0, mask.flatten().nonzero().squeeze(1))
        starts = F.pad(mask.sum(1).cumsum(0), (1, 0)).int()
        longest = ids.shape[1]
        *before, last = self.layers
        for layer in before:
            x = layer.packed(x, starts, longest)
        return (last.packed_firsts if first_only else last.packed)(x, starts, longest), starts

    def _begin(self, ids: Tensor, types: Tensor | None) -> Tensor:
        words = self.word_rows[ids].float() * self.word_scales[ids].unsqueeze(-1)
        # A weighted sum, since the gradient of an index into two rows is summed one by one.
        first, second = self.types
        kinds = first if types is None else first + types.unsqueeze(-1) * (second - first)
        x = self.norm(words + self.positions[: ids.shape[1]] + kinds)
        return x.bfloat16() if torch.is_autocast_enabled(x.device.type) else x


def _means(hidden: Tensor, starts: Tensor) -> Tensor:
    lengths = starts.diff()
    sums = torch.zeros(len(lengths), WIDTH, device=hidden.device).index_add(0, _rows_of(starts), hidden)
    return sums / lengths.unsqueeze(-1).clamp(min=1)


class EmbeddingModel(nn.Module):
    def __init__(self, layers: int = LAYERS, **options: float) -> None:
        super().__init__()
        self.encoder = Encoder(layers, **options)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        if ids.is_cuda and torch.is_autocast_enabled("cuda"):
            hidden, starts = self.encoder.packed(ids, mask)
            return F.normalize(_means(hidden.float(), starts), dim=-1)
        hidden = self.encoder(ids, mask).float()
        kept = mask.unsqueeze(-1)
        return F.normalize((hidden * kept).sum(1) / kept.sum(1).clamp(min=1), dim=-1)


class RerankingModel(nn.Module):
    def __init__(self, layers: int = LAYERS, **options: float) -> None:
        super().__init__()
        self.encoder = Encoder(layers, **options)
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        if ids.is_cuda and torch.is_autocast_enabled("cuda"):
            firsts, _ = self.encoder.packed(ids, mask, types, first_only=True)
            return self.head(firsts).squeeze(-1).float()
        return self.head(self.encoder(ids, mask, types, first_only=True)[:, 0]).squeeze(-1).float()


def load_base(encoder: Encoder, folder: Path) -> None:
    """Take the weights of all-MiniLM-L6-v2; a smaller encoder takes some of its layers, and in them some neurons."""
    raw = load_file(folder / "model.safetensors")
    raw = {name.removeprefix("bert."): tensor.float() for name, tensor in raw.items()}
    state = encoder.state_dict()
    if "word_rows" in raw:  # a base whose words were quantized before, to travel light
        state["word_rows"], state["word_scales"] = raw["word_rows"].to(torch.int8), raw["word_scales"]
    else:
        state["word_rows"], state["word_scales"] = quantize_rows(raw["embeddings.word_embeddings.weight"])
    state["positions"] = raw["embeddings.position_embeddings.weight"]
    state["types"] = raw["embeddings.token_type_embeddings.weight"]
    _copy(state, "norm", raw, "embeddings.LayerNorm")
    for own, base in enumerate(_chosen_layers(len(encoder.layers))):
        theirs, ours = f"encoder.layer.{base}.", f"layers.{own}."
        for kind in ("weight", "bias"):
            parts = [raw[f"{theirs}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            state[f"{ours}qkv.{kind}"] = torch.cat(parts)
        _copy(state, f"{ours}out", raw, f"{theirs}attention.output.dense")
        _copy(state, f"{ours}attention_norm", raw, f"{theirs}attention.output.LayerNorm")
        _copy(state, f"{ours}up", raw, f"{theirs}intermediate.dense")
        _copy(state, f"{ours}down", raw, f"{theirs}output.dense")
        _copy(state, f"{ours}output_norm", raw, f"{theirs}output.LayerNorm")
    encoder.load_state_dict(state)


def _chosen_layers(count: int, of: int = 6) -> list[int]:
    return [int(layer) for layer in np.linspace(of - 1, 0, count).round()[::-1]] if count > 1 else [of - 1]


def quantize_rows(table: Tensor) -> tuple[Tensor, Tensor]:
    scales = table.abs().amax(1).clamp(min=1e-8) / 127
    return (table / scales[:, None]).round().clamp(-127, 127).to(torch.int8), scales


def without_words(model: nn.Module) -> dict[str, Tensor]:
    """What is trained: the words stay with the base."""
    return {key: tensor for key, tensor in model.state_dict().items() if not key.startswith("encoder.word_")}


def save_trained(model: nn.Module, folder: Path, name: str) -> None:
    write_parts(without_words(model), folder, name)


def write_parts(state: Mapping[str, Tensor], folder: Path, name: str) -> None:
    """In half precision and in parts of moderate size."""
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[dict[str, Tensor]] = [{}]
    size = 0
    for key, tensor in state.items():
        half = tensor.detach().cpu().half().contiguous()
        if size + half.nbytes > PART_BYTES:
            parts.append({})
            size = 0
        parts[-1][key] = half
        size += half.nbytes
    for number, part in enumerate(parts):
        save_file(part, folder / f"{name}-{number}.safetensors")


def read_parts(folder: Path, name: str) -> dict[str, Tensor]:
    """Raises FileNotFoundError."""
    trained: dict[str, Tensor] = {}
    for path in sorted(folder.glob(f"{name}-[0-9].safetensors")):
        trained |= load_file(path)
    if not trained:
        raise FileNotFoundError(f"no parts of {name} in {folder}")
    return {key: tensor.float() for key, tensor in trained.items()}


def trained_layers(folder: Path, name: str) -> int:
    """Raises FileNotFoundError."""
    return sum(key.endswith(".up.bias") for key in read_parts(folder, name))


def load_trained(model: nn.Module, folder: Path, name: str) -> None:
    missing, unexpected = model.load_state_dict(read_parts(folder, name), strict=False)
    if unexpected or any(not key.startswith("encoder.word_") for key in missing):
        raise ValueError(f"{name} does not fit the model: missing {missing}, unexpected {unexpected}")


def save_words(encoder: Encoder, folder: Path, table: str = "word") -> None:
    np.save(folder / f"{table}_rows.npy", encoder.word_rows.cpu().numpy())
    np.save(folder / f"{table}_scales.npy", encoder.word_scales.cpu().numpy())


def load_words(encoder: Encoder, folder: Path, table: str = "word") -> None:
    encoder.word_rows.copy_(torch.from_numpy(np.load(folder / f"{table}_rows.npy")))
    encoder.word_scales.copy_(torch.from_numpy(np.load(folder / f"{table}_scales.npy")))


def _copy(state: dict[str, Tensor], ours: str, raw: dict[str, Tensor], theirs: str) -> None:
    for kind in ("weight", "bias"):
        state[f"{ours}.{kind}"] = raw[f"{theirs}.{kind}"]
