"""The encoders of the shipped models as torch modules again, so that what is trained next begins where they ended."""

from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import nn

from memorist.models.files import FOLDER
from training.encoder import WIDTH, Encoder, load_words


def load_shipped(encoder: Encoder, name: str = "embedder", folder: Path = FOLDER, words: str = "word") -> None:
    """Take the weights of `name`.onnx, with what rounding left of them. Raises ValueError where it has others."""
    graph, weights = _read(name, folder)
    made = {result: node for node in graph.node for result in node.output}
    products = [_product(node, weights, made) for node in graph.node if node.op_type == "MatMulIntegerToFloat"]
    first, *norms = (node for node in graph.node if node.op_type == "LayerNormalization")
    # The last layer of a reranker asks for its first token alone, by a product of its own.
    if len(products) == 4 * len(encoder.layers) + 1:
        (query, query_bias), (both, both_bias) = products[-5:-3]
        products[-5:-3] = [(np.concatenate([query, both]), np.concatenate([query_bias, both_bias]))]
    if len(products) != 4 * len(encoder.layers):
        raise ValueError(f"{name} has {len(products)} products, not four for each of {len(encoder.layers)} layers")
    state = encoder.state_dict()
    positions = next(value for value in weights.values() if value.shape == (encoder.positions.shape[0], WIDTH))
    state["positions"] = torch.from_numpy(positions.copy())
    steps = [value for value in weights.values() if value.shape == (WIDTH,) and _is_step(value, graph, weights)]
    state["types"] = torch.zeros(2, WIDTH)
    if steps:
        state["types"][1] = torch.from_numpy(steps[0].copy())
    _take_norm(state, "norm", first, weights)
    for number in range(len(encoder.layers)):
        for part, (weight, bias) in zip(
            ("qkv", "out", "up", "down"), products[4 * number : 4 * number + 4], strict=True
        ):
            state[f"layers.{number}.{part}.weight"] = torch.from_numpy(weight)
            state[f"layers.{number}.{part}.bias"] = torch.from_numpy(bias.copy())
        _take_norm(state, f"layers.{number}.attention_norm", norms[2 * number], weights)
        _take_norm(state, f"layers.{number}.output_norm", norms[2 * number + 1], weights)
    encoder.load_state_dict(state)
    load_words(encoder, folder, words)


def shipped_head(head: nn.Linear, name: str, folder: Path = FOLDER) -> None:
    """Take the head of `name`.onnx: its last product, and what is added to that."""
    graph, weights = _read(name, folder)
    product = [node for node in graph.node if node.op_type == "MatMul" and node.input[1] in weights][-1]
    added = [node for node in graph.node if node.op_type == "Add" and product.output[0] in node.input]
    with torch.no_grad():
        head.weight.copy_(torch.from_numpy(weights[product.input[1]].T.copy()))
        head.bias.zero_()
        if added:
            head.bias.copy_(torch.from_numpy(weights[added[0].input[1]].copy()))


def _read(name: str, folder: Path) -> tuple[onnx.GraphProto, dict[str, NDArray]]:
    graph = onnx.load(folder / f"{name}.onnx").graph
    return graph, {one.name: numpy_helper.to_array(one) for one in graph.initializer}


def _product(
    node: onnx.NodeProto, weights: dict[str, NDArray], made: dict[str, onnx.NodeProto]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Its weights and what is added; `made` says by which node each value is."""
    weight = (weights[node.input[1]].astype(np.float32) * weights[node.input[3]]).T
    source = made.get(made[node.input[0]].input[0])
    if source is not None and source.op_type == "Mul" and source.input[1] in weights:
        weight = weight * weights[source.input[1]]  # Where inputs are shrunk, weights are larger by as much.
    return weight, weights[node.input[6]]


def _is_step(value: NDArray, graph: onnx.GraphProto, weights: dict[str, NDArray]) -> bool:
    """Whether it is what the second segment adds: the one vector that the graph multiplies with `segments`."""
    products = [node for node in graph.node if node.op_type == "Mul"]
    return any(weights.get(name) is value for node in products for name in node.input)


def _take_norm(state: dict, name: str, node: onnx.NodeProto, weights: dict[str, NDArray]) -> None:
    for at, kind in enumerate(("weight", "bias"), start=1):
        state[f"{name}.{kind}"] = torch.from_numpy(weights[node.input[at]].copy())
