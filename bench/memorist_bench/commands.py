"""`memorist bench recall`, `speed`, `dashboard`, `load`, `judge`, `extraction` and `secrets`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from memorist.errors import Invalid, InvalidField
from memorist.surfaces.cli.flags import REFUSED_KEY, STORE, Flags, new_group, register, with_flags
from memorist.surfaces.cli.progress import progress_bar
from memorist.surfaces.cli.scratch import scratch
from memorist.surfaces.cli.terminal import note, print_json, print_table

_QUALITY = ("recall@1", "recall@5", "recall@10", "recall@20", "any@1", "any@5", "any@10", "any@20", "mrr")


@with_flags(*STORE, *REFUSED_KEY)
def recall(
    flags: Flags,
    files: Annotated[list[str] | None, typer.Argument(metavar="[FILE...]", help="Benchmark files.")] = None,
    language: Annotated[
        list[str] | None, typer.Option(metavar="CODE", help="Our own set in en, de, es, fr, zh, ja or ru; repeatable.")
    ] = None,
    pooled: Annotated[
        bool, typer.Option("--pooled", help="All conversations of a file as one user's, not one user for each.")
    ] = False,
    no_rerank: Annotated[bool, typer.Option("--no-rerank", help="Without the reranker.")] = False,
    by_category: Annotated[bool, typer.Option("--by-category", help="Also for each category of questions.")] = False,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Also without each part of the first order, and without the reranker.")
    ] = False,
    frontier: Annotated[
        bool, typer.Option("--frontier", help="Also without the reranker, and with more and more time for it.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(metavar="N", help="At most so many questions of a file, spread evenly over it.")
    ] = None,
    budget: Annotated[
        float,
        typer.Option(
            metavar="MS",
            min=0,
            help="Milliseconds for a recall, of which the reranker has what is left; 0: it reads all that it may.",
        ),
    ] = 0,
) -> None:
    """Measure how well recall finds, on benchmark files in the normalized format, LoCoMo's or LongMemEval's, or on our
    own conversations in several languages (--language).

    The messages are stored as a client would store them, one user for each case (--pooled: for all), and every question
    that has evidence is asked for 20 memories. Without --data or --database it happens in a temporary folder; in a
    given database the rows are erased afterwards. With --json each file gives one JSON document on a line of its own.
    """
    from memorist_bench import datasets
    from memorist_bench.quality import measure_recall

    if limit is not None and limit < 1:
        raise InvalidField("--limit must be at least 1.", field="limit")
    for code in language or ():
        if code not in datasets.LANGUAGES:
            raise InvalidField(f"--language must be one of {', '.join(datasets.LANGUAGES)}.", field="language")
    benchmarks = [
        *(datasets.read_benchmark(Path(file)) for file in files or ()),
        *map(datasets.of_language, language or ()),
    ]
    if not benchmarks:
        raise Invalid("Name a file, or a set of our own with --language.", field="file")
    results = []
    for benchmark in benchmarks:
        if pooled:
            benchmark = datasets.pooled(benchmark)
        if limit is not None:
            benchmark = datasets.with_fewer_questions(benchmark, limit)
        with scratch(flags) as space, progress_bar() as report:
            result = measure_recall(
                space.core, space.tenant, space.prefix, benchmark,
                rerank=not no_rerank, by_category=by_category, ablation=ablation, frontier=frontier,
                budget_ms=budget, report=report,
            )  # fmt: skip
        results.append(result)
        if flags.as_json:
            print_json(result)
    if not flags.as_json:
        _print_quality(results)


def _print_quality(results: list[dict[str, Any]]) -> None:
    rows = []
    for result in results:
        rows.append([result["name"], *_row(result)])
        rows += [[f"  {name}", *_row(found)] for name, found in result.get("categories", {}).items()]
        rows += [[f"  without {part}", *_row(found)] for part, found in result.get("without", {}).items()]
        rows += [[f"  {_time_of(point)}", *_row(point)] for point in result.get("frontier", ())]
    print_table(["file", "questions", *_QUALITY], rows, whole=["file"])
    for result in results:
        note(
            f"{result['name']}: {result['ingest_per_s']} memories a second stored and indexed; a recall takes "
            f"{result['recall_ms_p50']} ms (median), {result['recall_ms_p95']} ms (95th percentile), embedding a "
            f"question {result['embed_ms_p50'] or 0} ms; the reranker reads {result['read_p50']:g} (median). "
            f"Embedder: {result['embedder'] or 'none'}; reranker: {result['reranker'] or 'none'}."
        )


def _time_of(point: Mapping[str, Any]) -> str:
    given = {None: "no reranker", 0: "all the time"}.get(point["budget_ms"], f"within {point['budget_ms']} ms")
    return f"{given}: {point['recall_ms_p50'] / point['embed_ms_p50']:.1f} embeddings"


def _row(found: Mapping[str, Any]) -> list[str]:
    return [str(found["questions"]), *(f"{found[name]:.3f}" for name in _QUALITY)]


@with_flags(*STORE, *REFUSED_KEY)
def speed(
    flags: Flags,
    memories: Annotated[int, typer.Option(metavar="N", help="How many memories there are.")] = 10_000,
    users: Annotated[int, typer.Option(metavar="N", help="How many users they are spread over.")] = 1,
    questions: Annotated[int, typer.Option(metavar="N", help="How often each thing is timed.")] = 40,
) -> None:
    """Measure how fast recall and ingestion are, with so many invented memories, and what they take of memory and disk.

    The first memories, up to 2,000, are really stored and embedded; the others get vectors made from theirs with
    noise, since embedding is what takes the time (`synthetic_vectors`). Recall is timed for some users at random.
    `floor_ms` is what cannot be saved: embedding the question, comparing all vectors and looking its words up.
    Without --data or --database it happens in a temporary folder; in a given database the rows are erased afterwards.
    """
    from memorist_bench.speed import measure_speed

    for name, value in (("memories", memories), ("users", users), ("questions", questions)):
        if value < 1:
            raise InvalidField(f"--{name} must be at least 1.", field=name)
    if users > memories:
        raise InvalidField("--users must not be more than --memories.", field="users")
    with scratch(flags) as space, progress_bar() as report:
        result = measure_speed(
            space.core, space.settings, space.tenant, space.prefix,
            memories=memories, users=users, questions=questions, report=report,
        )  # fmt: skip
    if flags.as_json:
        print_json(result)
    else:
        rows = [[name, _number(value)] for name, value in result.items()]
        print_table(["measured", "value"], rows, whole=["measured"])


@with_flags(*STORE, *REFUSED_KEY)
def dashboard(
    flags: Flags,
    memories: Annotated[int, typer.Option(metavar="N", help="How many memories there are.")] = 100_000,
    rounds: Annotated[int, typer.Option(metavar="N", help="How often each view is asked for.")] = 40,
) -> None:
    """Measure how long the server takes for each view of the dashboard, with so many invented memories behind it.

    Half of them belong to the user who is signed in, and each view is asked for as that user and as an admin who looks
    at everybody's; what a page loads afterwards counts as a view of its own. The times are those of a client on this
    machine. Vectors are made as for `memorist bench speed`. Without --data or --database it happens in a temporary
    folder; in a given database the memories are erased afterwards.
    """
    from memorist_bench.dashboard import measure_dashboard

    for name, value in (("memories", memories), ("rounds", rounds)):
        if value < 1:
            raise InvalidField(f"--{name} must be at least 1.", field=name)
    with scratch(flags) as space, progress_bar() as report:
        result = measure_dashboard(
            space.core, space.settings, space.tenant, space.prefix, memories=memories, rounds=rounds, report=report
        )
    if flags.as_json:
        print_json(result)
        return
    columns = ["ms_p50", "ms_p95", "kb"]
    rows = [[name, *(f"{view[column]:.1f}" for column in columns)] for name, view in result["views"].items()]
    print_table(["view", *columns], rows, whole=["view"])
    slowest = f"the slowest view takes {result['slowest_ms_p95']:.1f} ms (95th percentile)"
    floor = result["reranked_recall"]
    told = "" if floor is None else f" A reranked recall without a page takes {floor['ms_p95']:.1f} ms."
    note(f"{result['memories']:,} memories in {result['database']}; {slowest}.{told}")


@with_flags(*STORE, *REFUSED_KEY)
def load(
    flags: Flags,
    users: Annotated[int, typer.Option(metavar="N", help="How many users there are.")] = 1000,
    memories: Annotated[int, typer.Option(metavar="N", help="How many memories each of them has.")] = 20,
    servers: Annotated[
        list[int] | None, typer.Option(metavar="N", help="With so many servers; repeatable. By default 1, then 2.")
    ] = None,
    at_once: Annotated[int, typer.Option(metavar="N", help="Requests in flight.")] = 16,
    seconds: Annotated[float, typer.Option(metavar="S", help="How long each is asked at most.")] = 20.0,
    requests: Annotated[int, typer.Option(metavar="N", help="How much each is asked at most.")] = 100_000,
    rerank: Annotated[bool, typer.Option("--rerank", help="With the reranker.")] = False,
) -> None:
    """Measure how servers bear many users at once: nine recalls to one write, over HTTP on this machine.

    Without --data or --database SQLite is asked, in a temporary folder. A PostgreSQL, or Citus, in --database is asked
    in turns with such an SQLite, and both are compared; its rows are erased afterwards. Of several servers a user is
    always sent to the same, as a proxy does by X-Memorist-Affinity. `cpu_ms_per_recall` is of the servers' processes,
    `database_cpu_ms_per_recall` of PostgreSQL's, where they are on this machine; `recall_to_empty` is how many times as
    long a recall takes as an empty handler, /healthz.
    """
    from contextlib import ExitStack
    from dataclasses import replace

    from memorist_bench.load import Amounts, AskedDatabase, measure_load, name_of

    counts = tuple(servers or (1, 2))
    asked = {"users": users, "memories": memories, "servers": min(counts), "at-once": at_once, "requests": requests}
    for name, value in (*asked.items(), ("seconds", seconds)):
        if value <= 0:
            raise InvalidField(f"--{name} must be more than 0.", field=name)
    with ExitStack() as spaces, progress_bar() as report:
        given = spaces.enter_context(scratch(flags))
        found = {name_of(given.core): given}
        if "sqlite" not in found:
            found["sqlite"] = spaces.enter_context(scratch(replace(flags, data=None, database=None)))
        places = {name: AskedDatabase(one.core, one.settings, one.tenant, one.prefix) for name, one in found.items()}
        result = measure_load(places, Amounts(users, memories, at_once, seconds, requests, counts, rerank), report)
    if flags.as_json:
        print_json(result)
        return
    for run in result.pop("runs"):
        rows = [[name, _number(value)] for name, value in run.items()]
        print_table(["measured", "value"], rows, whole=["measured"])
    print_table(["in all", "value"], [[name, _number(value)] for name, value in result.items()], whole=["in all"])


@with_flags(*STORE)
def secrets(
    flags: Flags,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE...]", help="Benchmark files, whose messages are ordinary texts."),
    ] = None,
    texts: Annotated[int, typer.Option(metavar="N", help="How many ordinary texts are tried.")] = 20_000,
    each: Annotated[int, typer.Option(metavar="N", help="How many secrets of each rule are tried.")] = 60,
    seed: Annotated[int, typer.Option(metavar="N", help="Another number gives other texts.")] = 1,
) -> None:
    """Measure how well secrets are found: on invented ones of every format, and on ordinary texts that hold none.

    A secret is caught where no 8 characters of it are left. `unlisted_caught` tells of secrets that no rule knows,
    `stated` of sentences in nine languages: the half that rules were developed on, and the half that is reported.
    Nothing is stored.
    """
    from memorist_bench.datasets import read_benchmark
    from memorist_bench.secrets import measure_secrets

    for name, value in (("texts", texts), ("each", each)):
        if value < 1:
            raise InvalidField(f"--{name} must be at least 1.", field=name)
    benchmarks = [read_benchmark(Path(file)) for file in files or ()]
    result = measure_secrets(seed=seed, each=each, ordinary=texts, benchmarks=benchmarks)
    if flags.as_json:
        print_json(result)
        return
    rows = [[name, _number(value)] for name, value in result.items() if not isinstance(value, Mapping)]
    rows += [[f"missed: {name}", _number(count)] for name, count in result["missed_by_rule"].items()]
    rows += [[f"false positives: {name}", _number(share)] for name, share in result["false_positives_in"].items()]
    rows += [[f"unlisted: {name}", _number(share)] for name, share in result["unlisted_caught"].items()]
    print_table(["measured", "value"], rows, whole=["measured"])
    columns = ["statements", "caught", "look_alikes", "false_positives"]
    for half, found in result["stated"].items():
        rows = [[language, *(_number(one[column]) for column in columns)] for language, one in found.items()]
        print_table([half, *columns], rows)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


_FILE = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="A labelled file; without it, what comes with Memorist.")
]
_PREDICTIONS = Annotated[Path | None, typer.Option("--predictions", help="Write what was found, a JSON object a line.")]


@with_flags(*STORE)
def judge(flags: Flags, file: _FILE = None, predictions: _PREDICTIONS = None) -> None:
    """Measure what the local judge does to an older fact when a newer one comes, on labelled pairs of facts.

    FILE is a JSON list of {"older", "newer", "label"}, label being contradicts, compatible, refines or same. Each pair
    is stored as facts of one user, the older one first. Without FILE: the pairs that come with Memorist, by themselves.
    """
    if file is not None:
        from memorist_bench.knowledge import OUTCOMES, measure_pairs

        _tell(flags, *measure_pairs(file), predictions, "outcomes", OUTCOMES)
        return
    from memorist.models.comparer import LocalComparer
    from memorist_bench.judge import labelled_pairs, measure_judge

    result = measure_judge(labelled_pairs(), LocalComparer())
    if flags.as_json:
        print_json(result)
        return
    columns = ["pairs", "contradictions", "precision", "recall", "unsure"]
    rows = [[name, *(f"{found[column]:g}" for column in columns)] for name, found in result["halves"].items()]
    print_table(["half", *columns], rows)
    for name, heading in (("false_alarms", "taken for a contradiction"), ("misses", "missed")):
        if result[name]:
            wrong = [[one["half"], one["old"], one["new"], one["ruling"]] for one in result[name]]
            print_table(["half", f"older ({heading})", "newer", "said"], wrong, whole=["half"])


@with_flags(*STORE)
def extraction(
    flags: Flags,
    file: _FILE = None,
    predictions: _PREDICTIONS = None,
    languages: Annotated[
        bool, typer.Option("--languages", help="Measure on our own conversations in twelve languages but English.")
    ] = False,
) -> None:
    """Measure how well the local extractor finds what is worth remembering, on labelled conversations.

    FILE has conversations with every fact that a person would want kept. A memory matches one where it is about the
    same person, rests on the same message or one beside it, and has its key words; so with --languages. Without either:
    the English conversations that come with Memorist, where a memory is found that has 60% of the words of one of its
    category.
    """
    from memorist.models.tagger import LocalTagger
    from memorist_bench.knowledge import measure_knowledge, measure_languages

    if languages:
        if file is not None or predictions is not None:
            raise Invalid("--languages measures on our own conversations: name no file beside it.", field="languages")
        by_language = measure_languages(LocalTagger())
        if flags.as_json:
            print_json(by_language)
            return
        shown = ["messages", "facts", "memories", "recall_3", "recall_2", "precision"]
        found_in = [[code, *(f"{one[column]:g}" for column in shown)] for code, one in by_language.items()]
        print_table(["language", *shown], found_in)
        return
    if file is not None:
        _tell(flags, *measure_knowledge(file, LocalTagger()), predictions)
        return
    from memorist_bench.extraction import measure_extraction

    result = measure_extraction(LocalTagger())
    if flags.as_json:
        print_json(result)
        return
    columns = ["conversations", "expected", "found", "precision", "recall", "nothing_to_keep", "found_in_nothing"]
    rows = [[half, *(f"{found[column]:g}" for column in columns)] for half, found in result.items()]
    print_table(["half", *columns], rows)
    for name in ("wrong", "missed"):
        for half, found in result.items():
            for line in found[name]:
                note(f"{half}, {name}: {line}")


def _tell(
    flags: Flags,
    result: dict[str, Any],
    lines: Sequence[Mapping[str, Any]],
    predictions: Path | None,
    table: str | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Print what was measured on a file, and write what was found."""
    if predictions is not None:
        predictions.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), "utf-8")
    if flags.as_json:
        print_json(result)
        return
    print_table(
        ["measured", "value"], [[name, _number(value)] for name, value in result.items() if not isinstance(value, dict)]
    )
    for name in (table, "shared_words_alone") if table else ():
        rows = [[label, *(f"{found[column]:g}" for column in columns)] for label, found in result[name].items()]
        print_table([name.replace("_", " "), *columns], rows)


app = new_group()
register(app, "recall", recall)
register(app, "speed", speed)
register(app, "dashboard", dashboard)
register(app, "load", load)
register(app, "judge", judge)
register(app, "extraction", extraction)
register(app, "secrets", secrets)
