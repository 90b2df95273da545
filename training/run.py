"""Trains the embedder and a reranker: `python -m training.run [STAGE…] --data FILE --base FOLDER --out FOLDER`.

The stages are `embedder` and then `reranker`, on what that embedder confuses; it reads what the one before left in
--out. Both are trained twice, on different sources with different seeds, and are the mean of both: it errs less than
either, and costs no more to use. What is shipped is made of them by training.distil and training.quantize.
"""

import argparse
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch

from memorist.recall.fusion import FUSION
from training.average import average
from training.data import FORMS, load_training
from training.encoder import LAYERS, EmbeddingModel, RerankingModel, load_base, load_trained, save_trained, save_words
from training.evaluate import evaluate
from training.mining import Negatives, mine
from training.tables import Tables, build_tables
from training.torch_models import TOKENIZER, TorchEmbedder, TorchReranker, device
from training.train import EMBEDDER, RERANKER, Recipe, train_embedder, train_reranker


@dataclass(frozen=True)
class Run:
    seed: int
    without: tuple[str, ...] = ()
    """Sources whose questions it does not see."""


RUNS = Run(1, without=("cosmos", "qasper")), Run(2)


@dataclass(frozen=True)
class Job:
    data: Path
    base: Path
    out: Path
    benchmarks: Sequence[Path] = ()
    conversations: int = 0
    """How many conversations to read; 0 for all."""
    steps: int = 0
    """Steps of each training; 0 for the recipe's own."""
    questions: int = 0
    layers: int = LAYERS


def run_embedder(job: Job) -> None:
    tables = _tables(job)
    negatives = _mine(job, _embedder(job))
    for run in RUNS:
        model = _embedder(job)
        train_embedder(model, tables, negatives, _sized(EMBEDDER, job), run.seed, run.without)
        save_trained(model, job.out, f"embedder{run.seed}")
        _say(f"embedder of run {run.seed}")
    _average(job, "embedder")
    save_words(_embedder(job).encoder, job.out)
    shutil.copy(TOKENIZER, job.out)
    _measure(job, "embedder", None)


def run_reranker(job: Job) -> None:
    tables = _tables(job)
    negatives = _mine(job, _embedder(job, "embedder"), as_ranked=True)
    for run in RUNS:
        torch.manual_seed(run.seed)
        model = _reranker(job)
        train_reranker(model, tables, negatives, _sized(RERANKER, job), run.seed, run.without)
        save_trained(model, job.out, f"reranker{run.seed}")
        _say(f"reranker of run {run.seed}")
    _average(job, "reranker")
    _measure(job, "embedder", "reranker")


@cache
def _tables(job: Job) -> Tables:
    conversations = load_training(job.data)
    if job.conversations:
        conversations = conversations[:: max(1, len(conversations) // job.conversations)][: job.conversations]
    tables = build_tables(conversations, TOKENIZER, FORMS, device())
    _say(f"{len(conversations)} conversations, {tables.unit_count} units, {len(tables.positives)} questions")
    return tables


def _mine(job: Job, embedder: EmbeddingModel, as_ranked: bool = False) -> Negatives:
    negatives = mine(embedder, _tables(job), text=FUSION.text if as_ranked else 0.0)
    _say("mined")
    return negatives


def _embedder(job: Job, trained: str = "") -> EmbeddingModel:
    model = EmbeddingModel(job.layers)
    load_base(model.encoder, job.base)
    if trained:
        load_trained(model, job.out, trained)
    return model.to(device())


def _reranker(job: Job, trained: str = "") -> RerankingModel:
    model = RerankingModel(job.layers)
    load_base(model.encoder, job.base)
    if trained:
        load_trained(model, job.out, trained)
    return model.to(device())


def _average(job: Job, name: str) -> None:
    average([job.out / f"{name}{run.seed}" for run in RUNS], job.out / name)


def _sized(recipe: Recipe, job: Job) -> Recipe:
    return replace(recipe, steps=job.steps or recipe.steps, questions=job.questions or recipe.questions)


def _measure(job: Job, embedder: str, reranker: str | None) -> None:
    title = reranker or embedder
    _say(title)
    if job.benchmarks:
        judge = None if reranker is None else TorchReranker(_reranker(job, reranker))
        scores = job.out / f"{title}-scores"
        scores.mkdir(exist_ok=True)
        evaluate(job.benchmarks, TorchEmbedder(_embedder(job, embedder)), judge, FUSION.without_tokens(), save=scores)


def _say(what: str) -> None:
    print(f"[{time.monotonic() - STARTED:.0f} s] {what}", flush=True)


STARTED = time.monotonic()
STAGES = {"embedder": run_embedder, "reranker": run_reranker}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stages", nargs="*", help=f"of {', '.join(STAGES)}; by default both")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True, help="folder with the base model.safetensors")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--benchmarks", type=Path, nargs="*", default=[])
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--questions", type=int, default=0)
    parser.add_argument("--conversations", type=int, default=0)
    parser.add_argument("--layers", type=int, default=LAYERS)
    arguments = vars(parser.parse_args())
    # Checked here: some versions of argparse hold an absent list itself against the choices.
    stages = arguments.pop("stages") or STAGES
    if unknown := [stage for stage in stages if stage not in STAGES]:
        parser.error(f"no such stage: {', '.join(unknown)}; there are {', '.join(STAGES)}")
    job = Job(**{key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()})
    torch.set_float32_matmul_precision("high")
    for stage in stages:
        STAGES[stage](job)


if __name__ == "__main__":
    main()
