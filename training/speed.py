"""Compares exports on this machine, in one run: `python -m training.speed NAME=FOLDER…`.

They take turns, so that a busy moment hits all of them; the median of the rounds is shown.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from memorist.models.embedder import LocalEmbedder
from memorist.models.reranker import LocalReranker

QUERY = "When did Ada move to the house by the river?"
SENTENCE = "We talked about the garden, the two dogs and the piano lessons that start again after the summer. "
PASSAGE = "[8 May 2023] Mel: How was the weekend? | Ada: " + SENTENCE * 2
PASSAGES = [f"{PASSAGE}Day {number}" for number in range(16)]
ANSWERS = [f"{PASSAGE}That was on day {number}." for number in range(20)]
"""The question has 13 tokens, a passage 60, as an average turn with its context, and an answer with the question 76."""


def milliseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("exports", nargs="+", help="NAME=FOLDER with the weights of one export")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    works: dict[str, list[Callable[[], object]]] = {}
    for export in arguments.exports:
        name, folder = export.split("=", 1)
        embedder, reranker = (kind(arguments.threads, Path(folder)) for kind in (LocalEmbedder, LocalReranker))
        works[name] = [
            lambda embedder=embedder: embedder.embed([QUERY]),
            lambda embedder=embedder: embedder.embed(PASSAGES),
            lambda reranker=reranker: reranker.score(QUERY, ANSWERS),
        ]
    times: dict[str, list[list[float]]] = {name: [[] for _ in work] for name, work in works.items()}
    for number in range(arguments.rounds + 1):
        for name, work in works.items():
            for place, one in enumerate(work):
                spent = milliseconds(one)
                if number:  # the first round reads the weights
                    times[name][place].append(spent)
    print("| export | question, ms | 16 passages, ms | 20 pairs, ms |\n|---|---|---|---|")
    for name, found in times.items():
        print(f"| {name} |", " | ".join(f"{statistics.median(one):.1f}" for one in found), "|")


if __name__ == "__main__":
    main()
