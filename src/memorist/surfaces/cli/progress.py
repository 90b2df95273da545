"""Progress on stderr, where somebody watches it; nothing otherwise."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from memorist.core import Core
from memorist.errors import ModelError
from memorist.surfaces.cli.terminal import note

Report = Callable[[str, int, int | None], None]
"""Told what is being done, how much of it is done, and how much there is, where that is known."""

NoWait = Annotated[
    bool,
    typer.Option("--no-wait", help="Do not wait for the vectors: a running server, or the next command, makes them."),
]


@contextmanager
def progress_bar(*, in_bytes: bool = False) -> Iterator[Report]:
    """A bar that a report moves; what is being done may change on the way."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn() if in_bytes else MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        shown = ""

        def report(doing: str, done: int, total: int | None) -> None:
            nonlocal shown
            if doing != shown:
                # Otherwise the time that remains would be reckoned from the speed of the step before.
                progress.reset(task, description=doing, total=total)
                shown = doing
            progress.update(task, completed=done, total=total)

        yield report


def wait_for_vectors(core: Core, tenant: str) -> int:
    """Embed what waits in a tenant. Returns how many still wait, which is told: recall finds them by keyword."""
    try:
        with progress_bar() as report:
            waiting = 0
            for progress in core.indexer.finish(tenant):
                report("Indexing", progress.done, progress.total)
                waiting = progress.waiting
            return waiting
    except ModelError as error:
        waiting = core.indexer.progress(tenant).waiting
        note(f"warning: {waiting} memories wait for their vectors, and are found by keyword meanwhile: {error.message}")
        return waiting
    except KeyboardInterrupt:
        note("Everything is stored. What waits for its vectors is found by keyword; `memorist index status` tells.")
        raise
