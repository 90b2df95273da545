"""`memorist recall`."""

from datetime import datetime
from typing import Annotated

import typer

from memorist.core import Core
from memorist.errors import InvalidField
from memorist.memories.values import Kind
from memorist.platform import access, validation
from memorist.platform.values import Principal
from memorist.recall.values import Question, Recalled, Scope
from memorist.surfaces.cli.door import reading
from memorist.surfaces.cli.flags import IDENTITY, STORE, Flags, with_flags
from memorist.surfaces.cli.hits import explained, print_hits, recalled_record
from memorist.surfaces.cli.terminal import note, print_json, print_line
from memorist.times import from_iso

_MOMENT = "TIME"


@with_flags(*STORE, *IDENTITY)
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
    as_of: Annotated[str | None, typer.Option(metavar=_MOMENT, help="What was true then.")] = None,
    known_at: Annotated[str | None, typer.Option(metavar=_MOMENT, help="What was known here then.")] = None,
    after: Annotated[str | None, typer.Option(metavar=_MOMENT, help="Only what was said from then on.")] = None,
    before: Annotated[str | None, typer.Option(metavar=_MOMENT, help="Only what was said before then.")] = None,
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
    asked = Question(
        question, top_k, kind or None, scope, not no_rerank, _moment("as_of", as_of), _moment("known_at", known_at),
        _moment("after", after), _moment("before", before), category, project, budget, min_score, explain, why_not,
    )  # fmt: skip
    if session is not None:
        validation.identifier("session", session)
    with reading(flags) as door:
        principal = access.acting(door.caller(), session=session)
        recalled = door.core.recall.recall(principal, asked)
        advice = _advice(door.core, principal) if recalled.degraded and not flags.as_json else ""
    if flags.as_json:
        print_json(recalled_record(recalled))
        return
    _print(recalled, question)
    if advice:
        note(advice)


def _moment(field: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return from_iso(text)
    except (ValueError, OverflowError) as error:
        raise InvalidField.of(
            field, f"must be a date or time such as 2026-05-02 or 2026-05-02T14:30, not {text[:60]!r}."
        ) from error


def _print(recalled: Recalled, query: str) -> None:
    if recalled.hits:
        print_hits(recalled.hits, query)
    else:
        note("Nothing relevant is remembered. --min-score 0 shows even what hardly fits.")
    if recalled.why_not is not None:
        print_line(f"{recalled.why_not['id']}: {recalled.why_not['reason']}")
        if "explanation" in recalled.why_not:
            print_line(f"  {explained(recalled.why_not['explanation'])}")


def _advice(core: Core, principal: Principal) -> str:
    """Why some memories are found by keyword only, and what to do."""
    if core.embedder is None:
        return "By keyword alone: meaning search is off. Set MEMORIST_EMBEDDER=local, or MEMORIST_EMBEDDER_URL."
    progress = core.indexer.progress(principal.tenant)
    if progress.waiting:
        reason = f" ({core.indexer.failure})" if core.indexer.failure else ""
        return (
            f"Incomplete: {progress.waiting} of {progress.total} memories wait for their vectors, and are found by "
            f"keyword only{reason}. A running server sees to it, or `memorist index rebuild --resume`."
        )
    return "By keyword alone: the embedder failed. MEMORIST_LOG_LEVEL=debug tells more."
