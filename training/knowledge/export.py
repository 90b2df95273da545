"""The graphs of the tagger and the comparer, as they are shipped: `training.quantize` writes them."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from training.export import Graph, array, encode, model_of
from training.knowledge.models import JudgingModel, TaggingModel


def tagger_graph(model: TaggingModel) -> onnx.ModelProto:
    graph = Graph()
    hidden = encode(graph, model.encoder, segments=True, first_only=False)
    pooled = graph.add("MatMul", "pooling", hidden)
    _head(graph, pooled, model)
    return model_of(
        graph, ["words", "mask", "segments", "pooling"], "tags", ["batch", "sentences", len(model.head.bias)]
    )


def comparer_graph(model: JudgingModel) -> onnx.ModelProto:
    graph = Graph()
    hidden = encode(graph, model.encoder, segments=True, first_only=False)
    kept = graph.add("Unsqueeze", graph.add("Cast", "mask", to=TensorProto.FLOAT), graph.constant(np.array([2])))
    axis = graph.constant(np.array([1]))
    summed = graph.add("ReduceSum", graph.add("Mul", hidden, kept), axis, keepdims=0)
    mean = graph.add("Div", summed, graph.add("ReduceSum", kept, axis, keepdims=0))
    _head(graph, mean, model)
    return model_of(graph, ["words", "mask", "segments"], "tags", ["batch", len(model.head.bias)])


def _head(graph: Graph, x: str, model: TaggingModel | JudgingModel) -> None:
    product = graph.add("MatMul", x, graph.constant(array(model.head.weight).T))
    graph.nodes.append(helper.make_node("Add", [product, graph.constant(array(model.head.bias))], ["tags"]))
