"""Full precision against the shipped int8 files: `python -m training.compare FILE… --scores FOLDER`.

The scores at full precision are what `training.run --benchmarks` saved on the accelerator. With `--trained FOLDER`
both run on this machine; `--every 6` then takes every sixth question, for those who cannot wait.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from memorist.models.embedder import LocalEmbedder
from memorist.models.files import FOLDER
from memorist.models.reranker import LocalReranker
from memorist.recall.fusion import FUSION, Fusion
from training.data import Conversation, load_benchmark
from training.evaluate import Embedder, Judged, Reranker, judge, read_scores, summarize

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
    files: Sequence[Path], full: Callable[[Path], list[Judged]], int8: Callable[[Path], list[Judged]], fusion: Fusion
) -> None:
    print("| file | stage | questions |", " | ".join(SHOWN), "| largest loss |")
    print("|---" * (len(SHOWN) + 4) + "|")
    for path in files:
        exact, small = full(path), int8(path)
        count = sum(len(case.conversation.questions) for case in exact)
        found = [summarize(judged, fusion) for judged in (exact, small)]
        for stage in found[0]:
            pairs = [(found[0][stage][metric], found[1][stage][metric]) for metric in SHOWN]
            shown = " | ".join(f"{exact:.3f} / {small:.3f}" for exact, small in pairs)
            loss = max(exact - small for exact, small in pairs)
            print(f"| {path.name.split('.')[0]} | {stage} | {count} | {shown} | {loss:.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--trained", type=Path, help="parts to run at full precision on this machine")
    parser.add_argument("--scores", type=Path, help="scores at full precision that `training.run` saved elsewhere")
    parser.add_argument("--weights", type=Path, default=FOLDER)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--pool", type=int, default=FUSION.pool)
    arguments = parser.parse_args()
    if (arguments.scores is None) == (arguments.trained is None):
        parser.error("name either --trained or --scores")
    if arguments.scores and arguments.every != 1:
        parser.error("--scores are of every question: leave out --every")
    fusion = replace(FUSION.without_tokens(), pool=arguments.pool)

    def cases(path: Path) -> list[Conversation]:
        return thinned(load_benchmark(path), arguments.every)

    def run(embedder: Embedder, reranker: Reranker) -> Callable[[Path], list[Judged]]:
        return lambda path: [judge(case, embedder, reranker, fusion) for case in cases(path)]

    def saved(path: Path) -> list[Judged]:
        return read_scores(cases(path), arguments.scores / f"{path.name.split('.')[0]}.npz")

    full = saved
    if arguments.trained:
        from training.torch_models import load_embedder, load_reranker

        places = arguments.trained, arguments.weights
        full = run(load_embedder(*places), load_reranker(*places))
    small = run(LocalEmbedder(folder=arguments.weights), LocalReranker(folder=arguments.weights))
    compare(arguments.files, full, small, fusion)


if __name__ == "__main__":
    main()
