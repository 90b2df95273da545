"""Compares exports on this machine, in one run: `python -m training.speed NAME=FOLDER… [--plain MODEL.onnx]`.

Variants take turns, so that a busy moment hits all of them; the median of the rounds is shown. `--plain` is an ordinary
export of the base (inputs input_ids, attention_mask, token_type_ids), run in the same batches: the yardstick.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from memorist.models.embedder import LocalEmbedder
from memorist.models.encoder import LONGEST, batches
from memorist.models.files import read_weights
from memorist.models.reranker import LocalReranker
from memorist.models.tokens import read_tokenizer

QUERY = "When did Ada move to the new house by the river?"
SENTENCE = "We talked about the garden, the two dogs and the piano lessons that start again after the summer. "
PASSAGE = "[8 May 2023] Mel: How was the weekend? | Ada: " + SENTENCE * 2
"""About sixty tokens, as an average turn with its context has."""


class PlainEmbedder(LocalEmbedder):
    """An ordinary export behind the same tokenizer, batches and threads; the mean is taken outside."""

    def __init__(self, path: Path, threads: int | None) -> None:
        super().__init__(threads)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.tokenizer = read_tokenizer(read_weights("tokenizer.json"), LONGEST)
        self.session = onnxruntime.InferenceSession(str(path), options)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        encodings = self.tokenizer.encode_all(list(texts))
        for places in batches(sorted(range(len(texts)), key=lambda place: len(encodings[place])), encodings):
            width = max(len(encodings[place]) for place in places)
            ids = np.zeros((len(places), width), dtype=np.int64)
            mask = np.zeros_like(ids)
            for row, place in enumerate(places):
                ids[row, : len(encodings[place])] = encodings[place].ids
                mask[row, : len(encodings[place])] = 1
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            mean = (self.session.run(None, feed)[0] * mask[..., None]).sum(1) / mask.sum(1)[:, None]
            vectors[places] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return vectors


def milliseconds(work: object) -> float:
    started = time.perf_counter()
    work()  # type: ignore[operator]
    return (time.perf_counter() - started) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variants", nargs="+", help="NAME=FOLDER with the weights of one export")
    parser.add_argument("--plain", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=None)
    arguments = parser.parse_args()
    passages = [PASSAGE + f"It was day {number}." for number in range(64)]
    models: dict[str, tuple[LocalEmbedder, LocalReranker | None]] = {}
    for variant in arguments.variants:
        name, folder = variant.split("=", 1)
        models[name] = LocalEmbedder(arguments.threads, Path(folder)), LocalReranker(arguments.threads, Path(folder))
    if arguments.plain:
        models["plain"] = PlainEmbedder(arguments.plain, arguments.threads), None
    times: dict[str, dict[str, list[float]]] = {name: {"query": [], "passages": [], "rerank": []} for name in models}
    for number in range(arguments.rounds + 1):
        for name, (embedder, reranker) in models.items():
            measured = {
                "query": statistics.median(milliseconds(lambda: embedder.embed([QUERY])) for _ in range(7)),  # noqa: B023
                "passages": milliseconds(lambda: embedder.embed(passages)),  # noqa: B023
                "rerank": milliseconds(lambda: reranker and reranker.score(QUERY, passages[:20])),  # noqa: B023
            }
            for what, value in measured.items():
                if number:  # the first round reads the weights
                    times[name][what].append(value)
    print("| export | query ms | passages/s | rerank 20, ms | rerank 20 ÷ query |\n|---|---|---|---|---|")
    for name, measured in times.items():
        query, many, rerank = (statistics.median(measured[what]) for what in ("query", "passages", "rerank"))
        print(f"| {name} | {query:.2f} | {64000 / many:.0f} | {rerank:.1f} | {rerank / query:.1f} |")


if __name__ == "__main__":
    main()
