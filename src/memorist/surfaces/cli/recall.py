"""`memorist recall`."""

from typing import Annotated

import typer

from memorist.memories.values import Kind
from memorist.recall.values import Recalled, Scope, Shortfall
from memorist.surfaces.cli.flags import ANYWHERE, IDENTITY, Flags, with_flags
from memorist.surfaces.cli.hits import explained, print_hits, recalled_record
from memorist.surfaces.cli.moments import MOMENT, moment
from memorist.surfaces.cli.speaking import core_here, speaking
from memorist.surfaces.cli.terminal import note, print_json, print_line
from memorist.verbs import Verbs


@with_flags(*ANYWHERE, *IDENTITY)
def recall(
    flags: Flags,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What to find, as one would ask it.")],
    top_k: Annotated[int, typer.Option("--top-k", metavar="N", help="Most that come back, 1 to 20.")] = 5,
    kind: Annotated[list[Kind] | None, typer.Option(help="Only this kind; repeatable.")] = None,
    scope: Annotated[Scope, typer.Option(help="Which slice of memory to search.")] = Scope.ANY,
    session: Annotated[str | None, typer.Option(metavar="ID", help="The current session.")] = None,
    category: Annotated[str | None, typer.Option(metavar="NAME", help="Only this category.")] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Only this project.")] = None,
    no_rerank: Annotated[bool, typer.Option("--no-rerank", help="Without the reranker: faster, less exact.")] = False,
    as_of: Annotated[str | None, typer.Option(metavar=MOMENT, help="What was true then.")] = None,
    known_at: Annotated[str | None, typer.Option(metavar=MOMENT, help="What was known here then.")] = None,
    after: Annotated[str | None, typer.Option(metavar=MOMENT, help="Only what was said from then on.")] = None,
    before: Annotated[str | None, typer.Option(metavar=MOMENT, help="Only what was said before then.")] = None,
    budget: Annotated[
        int | None, typer.Option(metavar="TOKENS", help="Fill so many tokens, instead of counting to --top-k.")
    ] = None,
    min_score: Annotated[
        float | None, typer.Option("--min-score", metavar="0..1", help="Score below which nothing is relevant.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show why each memory came back.")] = False,
    why_not: Annotated[str | None, typer.Option(metavar="ID", help="Say why this memory did not come back.")] = None,
) -> None:
    """Find the memories that answer a question, by its words and by its meaning, best first.

    TIME is a date such as 2026-05-02 or a time such as 2026-05-02T14:30, in UTC unless it names an offset.
    """
    moments = {"as_of": as_of, "known_at": known_at, "after": after, "before": before}
    asked = {name: moment(name, text) for name, text in moments.items()}
    with speaking(flags, reads=True, models=True, session=session) as memory:
        recalled = memory.recall(
            question, top_k=top_k, source_kinds=kind or None, scope=scope, enable_rerank=not no_rerank, **asked,
            category=category, project=project, budget_tokens=budget, min_score=min_score, explain=explain,
            why_not=why_not,
        )  # fmt: skip
        advice = _advice(memory, recalled) if recalled.degraded and not flags.as_json else ""
    if flags.as_json:
        print_json(recalled_record(recalled))
        return
    _print(recalled, question)
    if advice:
        note(advice)


def _print(recalled: Recalled, query: str) -> None:
    if recalled.hits:
        print_hits(recalled.hits, query)
    else:
        note("Nothing relevant is remembered. --min-score 0 shows even what hardly fits.")
    if recalled.why_not is not None:
        print_line(f"{recalled.why_not['id']}: {recalled.why_not['reason']}")
        if "explanation" in recalled.why_not:
            print_line(f"  {explained(recalled.why_not['explanation'])}")


def _advice(memory: Verbs, recalled: Recalled) -> str:
    """Why some memories are found by keyword only, or not at all, and what to do."""
    if Shortfall.USERS in recalled.degraded_by:
        return "Incomplete: there are too many users to look at all of them. Name one with --user."
    core = core_here(memory)
    if core is None:
        return "Some are found by keyword alone. `memorist index status`, where the server's database is, says why."
    if core.embedder is None:
        return "By keyword alone: meaning search is off. Set MEMORIST_EMBEDDER=local, or MEMORIST_EMBEDDER_URL."
    progress = core.indexer.progress(memory.principal.tenant)
    if progress.waiting:
        reason = f" ({core.indexer.failure})" if core.indexer.failure else ""
        return (
            f"Incomplete: {progress.waiting} of {progress.total} memories wait for their vectors, and are found by "
            f"keyword only{reason}. A running server sees to it, or `memorist index rebuild --resume`."
        )
    if core.recall.lacks_memory(memory.principal):
        return (
            "Incomplete: there is no memory for all vectors, and the oldest memories are found by keyword only. Set "
            "MEMORIST_INDEX_MEMORY_MB higher; `memorist doctor` says what it takes."
        )
    return "By keyword alone: the embedder failed. MEMORIST_LOG_LEVEL=debug tells more."
