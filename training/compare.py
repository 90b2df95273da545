"""Full precision against the shipped int8 files: `python -m training.compare FILE… --trained FOLDER --base FOLDER`.

Both run on this machine, on the same questions; `--every 6` takes every sixth, for those who cannot wait.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from memorist.models.embedder import LocalEmbedder
from memorist.models.files import FOLDER
from memorist.models.reranker import LocalReranker
from training.data import Conversation, load_benchmark
from training.evaluate import Embedder, Reranker, judge, summarize
from training.ranking import Fusion
from training.torch_models import load_embedder, load_reranker

SHOWN = ("recall@1", "recall@5", "recall@10", "any@5", "mrr")


def thinned(conversations: Sequence[Conversation], every: int) -> list[Conversation]:
    """Every so-manieth question of the file, counted over its conversations."""
    kept, seen = [], 0
    for conversation in conversations:
        questions = [question for place, question in enumerate(conversation.questions, seen) if place % every == 0]
        seen += len(conversation.questions)
        if questions:
            kept.append(replace(conversation, questions=questions))
    return kept


def compare(
    files: Sequence[Path], full: tuple[Embedder, Reranker], int8: tuple[Embedder, Reranker], every: int
) -> None:
    print("| file | stage | questions |", " | ".join(SHOWN), "| largest loss |")
    print("|---" * (len(SHOWN) + 4) + "|")
    fusion = Fusion()
    for path in files:
        cases = thinned(load_benchmark(path), every)
        found = [summarize([judge(case, *models, fusion) for case in cases], fusion) for models in (full, int8)]
        count = sum(len(case.questions) for case in cases)
        for stage in found[0]:
            pairs = [(found[0][stage][metric], found[1][stage][metric]) for metric in SHOWN]
            shown = " | ".join(f"{exact:.3f} / {small:.3f}" for exact, small in pairs)
            loss = max(exact - small for exact, small in pairs)
            print(f"| {path.name.split('.')[0]} | {stage} | {count} | {shown} | {loss:.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--trained", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--weights", type=Path, default=FOLDER)
    parser.add_argument("--every", type=int, default=1)
    arguments = parser.parse_args()
    full = load_embedder(arguments.trained, arguments.base), load_reranker(arguments.trained, arguments.base)
    small = LocalEmbedder(folder=arguments.weights), LocalReranker(folder=arguments.weights)
    compare(arguments.files, full, small, arguments.every)


if __name__ == "__main__":
    main()
