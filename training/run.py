"""Trains the models: `python -m training.run [STAGE…] --data FILE --base FOLDER --out FOLDER`.

`embedder` and then `teacher` (the reranker, on what that embedder confuses) are what is shipped, and what runs where no
stage is named. Two more were tried, and can be again: `distil` (the embedder, taught by the reranker as well) and
`students` (small rerankers that follow the large one). Each reads what the ones before left in --out.

Embedder and teacher are trained twice, on different sources with different seeds, and are the mean of both: it errs
less than either, and costs no more to use.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from memorist.recall.fusion import FUSION
from training.average import average
from training.data import FORMS, load_training
from training.encoder import SHAPES, EmbeddingModel, RerankingModel, load_base, load_trained, save_trained, shrink
from training.evaluate import evaluate
from training.mining import Negatives, autocast, mine
from training.tables import Tables, build_tables
from training.torch_models import TOKENIZER, TorchEmbedder, TorchReranker, device
from training.train import (
    DISTILLED,
    EMBEDDER,
    RERANKER,
    STUDENTS,
    Recipe,
    Teacher,
    judged_by,
    rerank_units,
    train_embedder,
    train_reranker,
    train_students,
)


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
    shape: str = "6"
    """The shape of the embedder and the teacher: a test takes a smaller one."""
    students: Sequence[str] = ("2n", "3q", "3", "4")


def run_embedder(job: Job) -> None:
    tables = _tables(job)
    negatives = _mine(job, _embedder(job))
    for run in RUNS:
        model = _embedder(job)
        train_embedder(model, tables, negatives, _sized(EMBEDDER, job), run.seed, run.without)
        save_trained(model, job.out, f"embedder{run.seed}")
        _say(f"embedder of run {run.seed}")
    _average(job, "embedder")
    _measure(job, "embedder", None)


def run_teacher(job: Job) -> None:
    tables = _tables(job)
    negatives = _mine(job, _embedder(job, "embedder"), as_ranked=True)
    for run in RUNS:
        torch.manual_seed(run.seed)
        model = _reranker(job)
        train_reranker(model, tables, negatives, _sized(RERANKER, job), run.seed, run.without)
        save_trained(model, job.out, f"teacher{run.seed}")
        _say(f"teacher of run {run.seed}")
    _average(job, "teacher")
    _measure(job, "embedder", "teacher")


def run_distil(job: Job) -> None:
    """Starts from the trained embedder with half of the rate: it has little to unlearn."""
    tables, embedder = _tables(job), _embedder(job, "embedder")
    teacher = _teacher(_reranker(job, "teacher").eval(), tables)
    train_embedder(embedder, tables, _mine(job, embedder), _sized(DISTILLED, job), seed=3, teacher=teacher)
    save_trained(embedder, job.out, "distilled")
    _measure(job, "distilled", "teacher")


def run_students(job: Job) -> None:
    tables = _tables(job)
    negatives = _mine(job, _embedder(job, "embedder"), as_ranked=True)
    reranker = _reranker(job, "teacher").eval()
    students = {name: shrink(reranker, SHAPES[name]) for name in job.students}
    teacher = _teacher(reranker, tables)
    recipe = _sized(STUDENTS, job)
    train_students(list(students.values()), tables, recipe, 4, judged_by(teacher, tables, negatives, recipe, 4))
    for name, student in students.items():
        save_trained(student, job.out, f"reranker{name}")
        _measure(job, "embedder", f"reranker{name}")


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


def _mine(job: Job, embedder: EmbeddingModel, as_ranked: bool = False) -> Negatives:
    negatives = mine(embedder, _tables(job), text=FUSION.text if as_ranked else 0.0)
    _say("mined")
    return negatives


def _embedder(job: Job, trained: str = "") -> EmbeddingModel:
    model = EmbeddingModel(SHAPES[job.shape])
    load_base(model.encoder, job.base)
    if trained:
        load_trained(model, job.out, trained)
    return model.to(device())


def _reranker(job: Job, trained: str = "") -> RerankingModel:
    shape = SHAPES[trained.removeprefix("reranker")] if trained.startswith("reranker") else SHAPES[job.shape]
    model = RerankingModel(shape)
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
STAGES = {
    "embedder": run_embedder,
    "teacher": run_teacher,
    "distil": run_distil,
    "students": run_students,
}
SHIPPED = ["embedder", "teacher"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stages", nargs="*", help=f"of {', '.join(STAGES)}; where none is named: {', '.join(SHIPPED)}")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True, help="folder with the base model.safetensors")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--benchmarks", type=Path, nargs="*", default=[])
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--questions", type=int, default=0)
    parser.add_argument("--conversations", type=int, default=0)
    parser.add_argument("--shape", choices=SHAPES, default="6")
    parser.add_argument("--students", choices=SHAPES, nargs="+", default=list(Job.students))
    arguments = vars(parser.parse_args())
    # Checked here: some versions of argparse hold an absent list itself against the choices.
    stages = arguments.pop("stages") or SHIPPED
    if unknown := [stage for stage in stages if stage not in STAGES]:
        parser.error(f"no such stage: {', '.join(unknown)}; there are {', '.join(STAGES)}")
    job = Job(**{key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()})
    torch.set_float32_matmul_precision("high")
    for stage in stages:
        STAGES[stage](job)


if __name__ == "__main__":
    main()
