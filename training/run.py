"""Trains the models, one stage at a time: `python -m training.run STAGE… --data FILE --base FOLDER --out FOLDER`.

Stages, in order: `embedder`, `teacher` (a reranker of six layers, on what that embedder confuses), `students` (small
rerankers that follow it) and `distil` (the embedder again, now also taught by the teacher). Each reads what the one
before left in --out.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from training.data import FORMS, load_training
from training.encoder import SHAPES, EmbeddingModel, RerankingModel, load_base, load_trained, save_trained, shrink
from training.evaluate import evaluate
from training.mining import Negatives, autocast, mine
from training.ranking import Fusion
from training.tables import Tables, build_tables
from training.torch_models import TOKENIZER, TorchEmbedder, TorchReranker, device
from training.train import (
    DISTILLED,
    EMBEDDER,
    RERANKER,
    STUDENTS,
    Recipe,
    Teacher,
    rerank_units,
    train_embedder,
    train_reranker,
    train_students,
)


@dataclass(frozen=True)
class Job:
    data: Path
    base: Path
    out: Path
    benchmarks: Sequence[Path] = ()
    seed: int = 1
    conversations: int = 0
    """How many conversations to read; 0 for all."""
    steps: int = 0
    """Steps of a run; 0 for the recipe's own."""
    questions: int = 0
    shape: str = "6"
    """The shape of the embedder and the teacher: a test takes a smaller one."""
    students: Sequence[str] = ("2n", "3q", "3", "4")
    rate: float = 1.0
    """A factor on the recipe's rate."""
    resume: bool = False
    """Go on with what an earlier run of the stage left, instead of starting anew."""


def run_embedder(job: Job) -> None:
    tables = _tables(job)
    model = _embedder(job, trained=job.resume)
    train_embedder(model, tables, _mine(job, model), _sized(EMBEDDER, job), job.seed)
    save_trained(model, job.out, "embedder")
    _measure(job, model, None, "embedder")


def run_teacher(job: Job) -> None:
    tables, embedder = _tables(job), _embedder(job, trained=True)
    torch.manual_seed(job.seed)
    model = _teacher_model(job, trained=job.resume)
    train_reranker(model, tables, _mine(job, embedder), _sized(RERANKER, job), job.seed)
    save_trained(model, job.out, "teacher")
    _measure(job, embedder, model, "teacher")


def run_students(job: Job) -> None:
    tables, embedder = _tables(job), _embedder(job, trained=True)
    reranker = _teacher_model(job, trained=True).eval()
    students = {name: shrink(reranker, SHAPES[name]) for name in job.students}
    if job.resume:
        for name, student in students.items():
            load_trained(student, job.out, f"reranker{name}")
    recipe = _sized(STUDENTS, job)
    train_students(list(students.values()), tables, _mine(job, embedder), recipe, job.seed, _teacher(reranker, tables))
    for name, student in students.items():
        save_trained(student, job.out, f"reranker{name}")
    for name, student in students.items():
        _measure(job, embedder, student, f"reranker{name}")


def run_distil(job: Job) -> None:
    """Starts from the trained embedder with half of the rate: it has little to unlearn."""
    tables, embedder = _tables(job), _embedder(job, trained=True)
    reranker = _teacher_model(job, trained=True).eval()
    if job.resume:
        load_trained(embedder, job.out, "distilled")
    recipe = _sized(DISTILLED, job)
    train_embedder(embedder, tables, _mine(job, embedder), recipe, job.seed, teacher=_teacher(reranker, tables))
    save_trained(embedder, job.out, "distilled")
    _measure(job, embedder, reranker, "distilled")


def _teacher(reranker: RerankingModel, tables: Tables) -> Teacher:
    @torch.no_grad()
    def score(questions: Tensor, units: Tensor, form: str) -> Tensor:
        with autocast(units.device):
            return rerank_units(reranker, tables, questions, units, "bare" if form == "bare" else "reranked")

    return score


@cache
def _tables(job: Job) -> Tables:
    conversations = load_training(job.data)
    if job.conversations:
        conversations = conversations[:: max(1, len(conversations) // job.conversations)][: job.conversations]
    tables = build_tables(conversations, TOKENIZER, FORMS, device())
    _say(f"{len(conversations)} conversations, {tables.unit_count} units, {len(tables.positives)} questions")
    return tables


def _mine(job: Job, embedder: EmbeddingModel) -> Negatives:
    negatives = mine(embedder, _tables(job))
    _say("mined")
    return negatives


def _embedder(job: Job, trained: bool) -> EmbeddingModel:
    model = EmbeddingModel(SHAPES[job.shape])
    load_base(model.encoder, job.base)
    if trained:
        load_trained(model, job.out, "embedder")
    return model.to(device())


def _teacher_model(job: Job, trained: bool) -> RerankingModel:
    model = RerankingModel(SHAPES[job.shape])
    load_base(model.encoder, job.base)
    if trained:
        load_trained(model, job.out, "teacher")
    return model.to(device())


def _sized(recipe: Recipe, job: Job) -> Recipe:
    return replace(
        recipe,
        steps=job.steps or recipe.steps,
        questions=job.questions or recipe.questions,
        rate=recipe.rate * job.rate,
    )


def _measure(job: Job, embedder: EmbeddingModel, reranker: RerankingModel | None, title: str) -> None:
    _say(title)
    if job.benchmarks:
        judge = None if reranker is None else TorchReranker(reranker)
        scores = job.out / f"{title}-scores"
        scores.mkdir(exist_ok=True)
        evaluate(job.benchmarks, TorchEmbedder(embedder), judge, Fusion(), save=scores)


def _say(what: str) -> None:
    print(f"[{time.monotonic() - STARTED:.0f} s] {what}", flush=True)


STARTED = time.monotonic()
STAGES = {"embedder": run_embedder, "teacher": run_teacher, "students": run_students, "distil": run_distil}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stages", nargs="+", choices=STAGES)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True, help="folder with the base model.safetensors")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--benchmarks", type=Path, nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--questions", type=int, default=0)
    parser.add_argument("--conversations", type=int, default=0)
    parser.add_argument("--shape", choices=SHAPES, default="6")
    parser.add_argument("--students", choices=SHAPES, nargs="+", default=list(Job.students))
    parser.add_argument("--resume", action="store_true")
    torch.set_float32_matmul_precision("high")
    arguments = vars(parser.parse_args())
    stages = arguments.pop("stages")
    job = Job(**{key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()})
    for stage in stages:
        STAGES[stage](job)


if __name__ == "__main__":
    main()
