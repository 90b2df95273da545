"""The graphs of the recall models, as they are shipped: `training.quantize` writes them.

They are built by hand from onnxruntime's fused operators: what is measured fastest is what is written, whatever an
exporter or an optimizer of the day would make of it. Word vectors are looked up outside, from one shared table.
"""

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from training.encoder import HEADS, WIDTH, EmbeddingModel, Encoder, Layer, RerankingModel
from training.rounding import LARGEST_WEIGHT, RoundedLinear

MICROSOFT = "com.microsoft"
ONE = "one"
EVERY = slice(None)


class Graph:
    """Collects nodes and weights; each method returns the name of its result."""

    def __init__(self) -> None:
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

    def linear(self, x: str, module: RoundedLinear, columns: slice = EVERY) -> str:
        """`x @ weight + bias` in whole numbers, by scales that were learned: the same on every processor and in every
        company.
        """
        weight, bias = array(module.weight).T[:, columns], array(module.bias)[columns]
        scale, zero = (float(value.detach()) for value in module.scale_and_zero())
        if bool((module.shrunk < 1).any()):
            x = self.add("Mul", x, self.constant(array(module.shrunk)))
        names = [self.constant(np.float32(scale)), self.constant(np.uint8(round(zero)))]
        levels = self.add("QuantizeLinear", x, *names)
        scales = (np.maximum(np.abs(weight).max(0), 1e-8) / LARGEST_WEIGHT).astype(np.float32)
        rows = self.constant(np.round(weight / scales).astype(np.int8))
        inputs = [levels, rows, names[0], self.constant(scales), names[1], "", self.constant(bias)]
        return self.add("MatMulIntegerToFloat", *inputs, domain=MICROSOFT)

    def norm(self, x: str, module: nn.LayerNorm) -> str:
        weight, bias = self.constant(array(module.weight)), self.constant(array(module.bias))
        return self.add("LayerNormalization", x, weight, bias, axis=-1, epsilon=1e-12)

    def norm_of_both(self, x: str, skip: str, module: nn.LayerNorm) -> str:
        """The operator that does both at once takes four times as long."""
        return self.norm(self.add("Add", x, skip), module)


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
    x = graph.norm(added, encoder.norm)
    last = len(encoder.layers) - 1
    for number, layer in enumerate(encoder.layers):
        x = _layer(graph, layer, x, first_only and number == last)
    return x


def _layer(graph: Graph, layer: Layer, x: str, first_only: bool) -> str:
    """The next state of all tokens, or of the first alone."""
    asking = x
    if first_only:
        asking = graph.add("Slice", x, graph.constant(np.array([0])), graph.constant(np.array([1])), ONE)
        query = graph.linear(asking, layer.qkv, slice(WIDTH))
        both = graph.linear(x, layer.qkv, slice(WIDTH, None))
        parts = [query, *_split(graph, both, 2)]
    else:
        parts = _split(graph, graph.linear(x, layer.qkv), 3)
    attended = graph.add("MultiHeadAttention", *parts, "", "mask", domain=MICROSOFT, num_heads=HEADS)
    x = graph.norm_of_both(graph.linear(attended, layer.out), asking, layer.attention_norm)
    # The tanh form differs in the fourth digit and takes a third of the time.
    inner = graph.add("FastGelu", graph.linear(x, layer.up), domain=MICROSOFT)
    return graph.norm_of_both(graph.linear(inner, layer.down), x, layer.output_norm)


def _split(graph: Graph, x: str, count: int) -> list[str]:
    sizes = graph.constant(np.array([WIDTH] * count))
    names = [f"s{len(graph.nodes)}_{part}" for part in range(count)]
    graph.nodes.append(helper.make_node("Split", [x, sizes], names, axis=2))
    return names


def embedder_graph(model: EmbeddingModel) -> onnx.ModelProto:
    graph = Graph()
    hidden = encode(graph, model.encoder, segments=False, first_only=False)
    kept = graph.add("Unsqueeze", graph.add("Cast", "mask", to=TensorProto.FLOAT), graph.constant(np.array([2])))
    summed = graph.add("ReduceSum", graph.add("Mul", hidden, kept), graph.constant(np.array([1])), keepdims=0)
    # The length of the mean and of the sum differ, their direction does not.
    graph.nodes.append(helper.make_node("LpNormalization", [summed], ["vectors"], axis=1, p=2))
    return model_of(graph, ["words", "mask"], "vectors", ["batch", WIDTH])


def reranker_graph(model: RerankingModel) -> onnx.ModelProto:
    graph = Graph()
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
