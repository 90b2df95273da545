"""Writes the trained models as int8 ONNX: `python -m training.export --trained FOLDER --base FOLDER [--to FOLDER]`.

The graph is built by hand from onnxruntime's fused operators: what is measured fastest is what is written, whatever
an exporter or an optimizer of the day would make of it. Word vectors are looked up outside, from one shared table.
"""

import argparse
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from memorist.models.files import FOLDER, MANIFEST
from training.encoder import (
    HEADS,
    WIDTH,
    EmbeddingModel,
    Encoder,
    Layer,
    RerankingModel,
    load_base,
    load_trained,
    trained_shape,
)
from training.rounding import LARGEST_WEIGHT, RoundedLinear

MICROSOFT = "com.microsoft"
VARIANTS = ("float", "per_channel", "per_tensor", "unfused", "seven_bit", "blocks32", "blocks128", "mixed")
BLOCKWISE_WHEN_MIXED = {"down"}
"""The products whose inputs are too uneven for one scale; `mixed` takes blocks there and columns elsewhere."""
EMBEDDER_VARIANT, RERANKER_VARIANT = "blocks128", "blocks128"
"""What is shipped: a result must not depend on its company in the batch."""


ONE = "one"
EVERY = slice(None)


class Graph:
    """Collects nodes and weights; each method returns the name of its result."""

    def __init__(self, variant: str) -> None:
        self.variant = variant
        self.nodes: list[onnx.NodeProto] = []
        self.weights = [numpy_helper.from_array(np.array([1]), ONE)]

    def add(self, operator: str, *inputs: str, domain: str = "", **options: object) -> str:
        result = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [result], domain=domain, **options))
        return result

    def constant(self, values: NDArray[np.generic]) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def linear(self, kind: str, x: str, module: nn.Module, columns: slice = EVERY) -> str:
        """`x @ weight + bias`, in the arithmetic of the variant. `kind` says which of a layer's products it is."""
        weight, bias = array(module.weight).T[:, columns], array(module.bias)[columns]
        if isinstance(module, RoundedLinear):
            return self._rounded(x, weight, bias, module)
        if self.variant == "mixed" and kind in BLOCKWISE_WHEN_MIXED:
            return self._blockwise(x, weight, bias, 128)
        if self.variant == "float":
            return self.add("Add", self.add("MatMul", x, self.constant(weight)), self.constant(bias))
        if self.variant.startswith("blocks"):
            return self._blockwise(x, weight, bias, int(self.variant.removeprefix("blocks")))
        largest = np.abs(weight).max(0) if self.variant != "per_tensor" else np.abs(weight).max()
        scale = np.asarray(largest / (63 if self.variant == "seven_bit" else 127), dtype=np.float32)
        rows = self.constant(np.round(weight / scale).astype(np.int8))
        if self.variant != "unfused":
            return self.add(
                "DynamicQuantizeMatMul", x, rows, self.constant(scale), "", self.constant(bias), domain=MICROSOFT
            )
        self.nodes.append(
            helper.make_node("DynamicQuantizeLinear", [x], [f"q{len(self.nodes)}{part}" for part in "xsz"])
        )
        quantized, x_scale, x_zero = self.nodes[-1].output
        whole = self.add("MatMulInteger", quantized, rows, x_zero)
        scaled = self.add("Mul", self.add("Cast", whole, to=TensorProto.FLOAT), self.constant(scale))
        return self.add("Add", self.add("Mul", scaled, x_scale), self.constant(bias))

    def _rounded(self, x: str, weight: NDArray[np.float32], bias: NDArray[np.float32], module: RoundedLinear) -> str:
        """Whole numbers alone, by scales that were learned: the same on every processor and in every company."""
        scale, zero = (float(value.detach()) for value in module.scale_and_zero())
        if bool((module.shrunk < 1).any()):
            x = self.add("Mul", x, self.constant(array(module.shrunk)))
        names = [self.constant(np.float32(scale)), self.constant(np.uint8(round(zero)))]
        levels = self.add("QuantizeLinear", x, *names)
        scales = (np.maximum(np.abs(weight).max(0), 1e-8) / LARGEST_WEIGHT).astype(np.float32)
        rows = self.constant(np.round(weight / scales).astype(np.int8))
        inputs = [levels, rows, names[0], self.constant(scales), names[1], "", self.constant(bias)]
        return self.add("MatMulIntegerToFloat", *inputs, domain=MICROSOFT)

    def _blockwise(self, x: str, weight: NDArray[np.float32], bias: NDArray[np.float32], block: int) -> str:
        """A scale for each block of a column; activations likewise, so a text's result does not depend on its batch."""
        inner, outer = weight.shape
        blocks = weight.T.reshape(outer, inner // block, block)
        scale = np.maximum(np.abs(blocks).max(2), 1e-8).astype(np.float32) / 127
        rows = (np.round(blocks / scale[..., None]) + 128).astype(np.uint8)
        names = [self.constant(rows), self.constant(scale.reshape(-1)), "", "", self.constant(bias)]
        sizes = {"K": inner, "N": outer, "bits": 8, "block_size": block, "accuracy_level": 4}
        return self.add("MatMulNBits", x, *names, domain=MICROSOFT, **sizes)

    def norm(self, x: str, skip: str, module: nn.LayerNorm) -> str:
        weight, bias = self.constant(array(module.weight)), self.constant(array(module.bias))
        return self.add("SkipLayerNormalization", x, skip, weight, bias, domain=MICROSOFT, epsilon=1e-12)


def array(tensor: object) -> NDArray[np.float32]:
    return tensor.detach().float().cpu().numpy()  # type: ignore[attr-defined,no-any-return]


def encode(graph: Graph, encoder: Encoder, segments: bool, first_only: bool) -> str:
    """The encoder's layers. With `first_only` the last layer computes what the first token needs, and no more."""
    positions = array(encoder.positions) + array(encoder.types)[0]
    length = graph.add("Shape", "mask", start=1, end=2)
    zero = graph.constant(np.array([0]))
    place = graph.add("Slice", graph.constant(positions), zero, length, zero)
    if segments:
        step = graph.constant(array(encoder.types)[1] - array(encoder.types)[0])
        second = graph.add("Unsqueeze", "segments", graph.constant(np.array([2])))
        place = graph.add("Add", graph.add("Mul", second, step), place)
    added = graph.add("Add", "words", place)
    scale, bias = graph.constant(array(encoder.norm.weight)), graph.constant(array(encoder.norm.bias))
    x = graph.add("LayerNormalization", added, scale, bias, axis=-1, epsilon=1e-12)
    last = len(encoder.layers) - 1
    for number, layer in enumerate(encoder.layers):
        rows = encoder.shape.rows if 0 < number < last else int(first_only and number == last)
        done = _layer(graph, layer, x, rows)
        if rows and number < last:
            waiting = graph.add("Slice", x, graph.constant(np.array([rows])), graph.constant(np.array([2**31])), ONE)
            done = graph.add("Concat", done, waiting, axis=1)
        x = done
    return x


def _layer(graph: Graph, layer: Layer, x: str, rows: int) -> str:
    """The next state of all tokens, or of the first `rows`."""
    asking = x
    if rows:
        asking = graph.add("Slice", x, graph.constant(np.array([0])), graph.constant(np.array([rows])), ONE)
        query = graph.linear("qkv", asking, layer.qkv, slice(WIDTH))
        both = graph.linear("qkv", x, layer.qkv, slice(WIDTH, None))
        parts = [query, *_split(graph, both, 2)]
    else:
        parts = _split(graph, graph.linear("qkv", x, layer.qkv), 3)
    attended = graph.add("MultiHeadAttention", *parts, "", "mask", domain=MICROSOFT, num_heads=HEADS)
    out = graph.linear("out", attended, layer.out)
    x = graph.norm(out, asking, layer.attention_norm)
    # The tanh form differs in the fourth digit and takes a third of the time.
    up = graph.linear("up", x, layer.up)
    inner = graph.add("FastGelu", up, domain=MICROSOFT)
    return graph.norm(graph.linear("down", inner, layer.down), x, layer.output_norm)


def _split(graph: Graph, x: str, count: int) -> list[str]:
    sizes = graph.constant(np.array([WIDTH] * count))
    names = [f"s{len(graph.nodes)}_{part}" for part in range(count)]
    graph.nodes.append(helper.make_node("Split", [x, sizes], names, axis=2))
    return names


def embedder_graph(model: EmbeddingModel, variant: str = EMBEDDER_VARIANT) -> onnx.ModelProto:
    graph = Graph(variant)
    hidden = encode(graph, model.encoder, segments=False, first_only=False)
    kept = graph.add("Unsqueeze", graph.add("Cast", "mask", to=TensorProto.FLOAT), graph.constant(np.array([2])))
    summed = graph.add("ReduceSum", graph.add("Mul", hidden, kept), graph.constant(np.array([1])), keepdims=0)
    # The length of the mean and of the sum differ, their direction does not.
    graph.nodes.append(helper.make_node("LpNormalization", [summed], ["vectors"], axis=1, p=2))
    return model_of(graph, ["words", "mask"], "vectors", ["batch", WIDTH])


def reranker_graph(model: RerankingModel, variant: str = RERANKER_VARIANT) -> onnx.ModelProto:
    graph = Graph(variant)
    hidden = encode(graph, model.encoder, segments=True, first_only=True)
    scored = graph.add("MatMul", hidden, graph.constant(array(model.head.weight).T))
    graph.nodes.append(helper.make_node("Reshape", [scored, graph.constant(np.array([-1]))], ["scores"]))
    return model_of(graph, ["words", "mask", "segments"], "scores", ["batch"])


def model_of(graph: Graph, inputs: list[str], output: str, shape: list[object]) -> onnx.ModelProto:
    shapes = {
        "words": (TensorProto.FLOAT, ["batch", "length", WIDTH]),
        "mask": (TensorProto.INT32, ["batch", "length"]),
        "segments": (TensorProto.FLOAT, ["batch", "length"]),
        "pooling": (TensorProto.FLOAT, ["batch", "sentences", "length"]),
    }
    proto = helper.make_graph(
        graph.nodes,
        "memorist",
        [helper.make_tensor_value_info(name, *shapes[name]) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        graph.weights,
    )
    versions = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(proto, opset_imports=versions, ir_version=9, producer_name="memorist")


def export(
    trained: Path,
    base: Path,
    to: Path,
    variants: tuple[str, str] = (EMBEDDER_VARIANT, RERANKER_VARIANT),
    embedder_name: str = "embedder",
    reranker_name: str = "teacher",
) -> None:
    to.mkdir(parents=True, exist_ok=True)
    embedder = EmbeddingModel(trained_shape(trained, embedder_name))
    reranker = RerankingModel(trained_shape(trained, reranker_name))
    for model, name in ((embedder, embedder_name), (reranker, reranker_name)):
        load_base(model.encoder, base)
        load_trained(model, trained, name)
    (to / "embedder.onnx").write_bytes(embedder_graph(embedder, variants[0]).SerializeToString())
    (to / "reranker.onnx").write_bytes(reranker_graph(reranker, variants[1]).SerializeToString())
    np.save(to / "word_rows.npy", embedder.encoder.word_rows.numpy())
    np.save(to / "word_scales.npy", embedder.encoder.word_scales.numpy())
    if not (to / "tokenizer.json").exists():
        shutil.copy(FOLDER / "tokenizer.json", to)
    write_manifest(to)


def write_manifest(folder: Path) -> None:
    files = sorted(path for path in folder.iterdir() if path.suffix in {".onnx", ".npy", ".json"})
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.name != MANIFEST}
    (folder / MANIFEST).write_text(json.dumps(hashes, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trained", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--to", type=Path, default=FOLDER)
    parser.add_argument("--variants", choices=VARIANTS, nargs=2, default=(EMBEDDER_VARIANT, RERANKER_VARIANT))
    parser.add_argument("--embedder", default="embedder", help="name of the trained parts")
    parser.add_argument("--reranker", default="teacher", help="name of the trained parts")
    arguments = parser.parse_args()
    names = arguments.embedder, arguments.reranker
    export(arguments.trained, arguments.base, arguments.to, tuple(arguments.variants), *names)


if __name__ == "__main__":
    main()
