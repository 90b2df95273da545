"""`memorist export` and `memorist import`."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from memorist.errors import Invalid
from memorist.importers import Source, recognized
from memorist.importers.files import export_lines
from memorist.memories.values import Kind
from memorist.settings_sources import load_settings
from memorist.surfaces.cli.door import Whose
from memorist.surfaces.cli.failures import FAILED_CHECK
from memorist.surfaces.cli.flags import ANYWHERE, IDENTITY, Flags, with_flags
from memorist.surfaces.cli.import_from import import_from
from memorist.surfaces.cli.moments import MOMENT, moment
from memorist.surfaces.cli.outputs import STREAM, ended_in_order, is_written_to, require_free, written
from memorist.surfaces.cli.progress import NoWait, progress_bar, wait_for_vectors
from memorist.surfaces.cli.speaking import core_here, only_here, speaking
from memorist.surfaces.cli.terminal import counted, escaped_json, note, print_json
from memorist.transfer.service import ImportReport, check_header
from memorist.verbs import Verbs


@with_flags(*ANYWHERE, *IDENTITY)
def export(
    flags: Flags,
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="Where to write; - is stdout.")] = STREAM,
    kind: Annotated[list[Kind] | None, typer.Option(help="Only this kind; repeatable.")] = None,
    since: Annotated[str | None, typer.Option(metavar=MOMENT, help="Only what was stored from then on.")] = None,
    until: Annotated[str | None, typer.Option(metavar=MOMENT, help="Only what was stored before then.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write memories of every status and their history as lines of JSON: of the whole tenant, or of --user.

    A file appears only when it is complete, and is readable by its owner only. TIME is a date such as 2026-05-02 or a
    time such as 2026-05-02T14:30, in UTC unless it names an offset.
    """
    counts: Counter[str] = Counter()
    asked = {"since": moment("since", since), "until": moment("until", until)}
    if file != STREAM:
        settings = load_settings(flags.as_settings()).settings
        require_free(settings, Path(file), force=force or is_written_to(Path(file)))
    with ended_in_order(), speaking(flags, Whose.BACKUP, reads=True) as memory:
        lines = _counting(memory.export(kinds=kind or None, **asked), counts)
        if file == STREAM:
            # Pipes and files get the very bytes; on a terminal no text may act as a command to it.
            shown = map(escaped_json, lines) if sys.stdout.isatty() else lines
            for line in shown:
                sys.stdout.write(line + "\n")
        else:
            with written(Path(file)) as target:
                target.writelines(f"{line}\n" for line in lines)
    memories, documents = counts["memory"], counts["document"]
    if file != STREAM and flags.as_json:
        print_json({"file": file, "memories": memories, "documents": documents})
    else:
        parts = [counted(memories, "memory", "memories")]
        parts += [counted(documents, "document")] if documents else []
        note(f"{' and '.join(parts)} exported.")


@with_flags(*ANYWHERE, *IDENTITY)
def import_(
    flags: Flags,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="An export; - is stdin.")],
    source: Annotated[Source | None, typer.Option("--from", help="Whose export it is. Default: as it looks.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be imported.")] = False,
    no_wait: NoWait = False,
) -> None:
    """Store what an export holds, with its vectors. What is there already is left alone, so that it can be repeated.

    The file is read as a stream, and stored in batches: where a line is wrong, those before it may be stored. Of one
    that is cut off, all that is there is stored, and the exit code is then 1. The export of another program, a file or
    a folder, is known by how it looks or named with --from. It is checked as a whole before anything is stored, for
    the user that --user or the key names; what cannot be categorised becomes `history`.
    """
    # A pipe can be read once.
    if source is None and (Path(file).is_file() or Path(file).is_dir()):
        source = recognized(Path(file))
        if source is not None and not flags.as_json:
            note(f"It looks like an export of {source}.")
    if source is not None:
        import_from(flags, source, file, dry_run=dry_run, no_wait=no_wait)
        return
    if dry_run:
        raise Invalid("--dry-run is for the exports of other programs, and this is one of Memorist.", field="dry_run")
    with _binary_input(file) as stream, ExitStack() as opened:
        with _progress(stream) as advance:
            lines = export_lines(stream, advance)
            header = next(lines)
            # Where it is no export, no database is made for it.
            check_header(header)
            memory = opened.enter_context(speaking(flags, Whose.BACKUP))
            report = _import(memory, chain([header], lines))
        if report.imported and not no_wait:
            core = core_here(memory)
            memory.wait_until_indexed() if core is None else wait_for_vectors(core, memory.principal.tenant)
    _print_report(report, as_json=flags.as_json)
    if report.incomplete:
        raise typer.Exit(FAILED_CHECK)


def _import(memory: Verbs, lines: Iterable[str]) -> ImportReport:
    report = ImportReport()
    try:
        if core_here(memory) is None:
            return memory.import_(lines)
        me = only_here(memory, "this")
        for report in me.core.transfer.import_(me.writing(), lines):  # noqa: B007
            pass
    except BaseException:
        if report.imported:
            note(f"{counted(report.imported, 'memory was', 'memories were')} imported before this.")
        raise
    return report


def _print_report(report: ImportReport, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(report))
    else:
        note(f"{report.imported} imported, {report.already_there} were there already.")
    if report.incomplete:
        note(
            "warning: the export is cut off: lines at its end are missing. What it holds was imported; import the whole"
            " to have the rest."
        )
    elif report.uncounted:
        note("The export does not say how many lines it has, as older ones: whether it is whole cannot be told.")
    if report.policy_set:
        note("The retention policy of the export was set here: `memorist policy show`.")
    if report.policy_left:
        note(
            "warning: the retention policy of the export was not set: that is done where an admin imports into a tenant"
            " without memories and without a policy. `memorist policy set` changes the one here."
        )
    if report.erased:
        note(f"{report.erased} not imported: they were erased here, and stay so.")
    if report.shared:
        note(f"warning: {report.shared} not imported: the whole tenant shares them, and only an admin writes those.")
    if report.conflicting:
        note(
            f"warning: {report.conflicting} not imported: their name or text belongs to another memory here, or their"
            " document is newer here."
        )


def _counting(lines: Iterable[str], counts: Counter[str]) -> Iterator[str]:
    """The lines of an export, counted by what they hold: by the name of their first field."""
    for line in lines:
        counts[line.split('"', 2)[1]] += 1
        yield line


@contextmanager
def _binary_input(file: str) -> Iterator[BinaryIO]:
    if file == STREAM:
        yield sys.stdin.buffer
        return
    try:
        source = open(file, "rb")  # noqa: SIM115
    except OSError as error:
        raise Invalid(f"{file} cannot be read: {error.strerror}.", field="file") from error
    with source:
        yield source


@contextmanager
def _progress(source: BinaryIO) -> Iterator[Callable[[int], None]]:
    """A progress bar over the bytes of a stream, moved by how many more were read."""
    size = None if source is sys.stdin.buffer else os.fstat(source.fileno()).st_size or None
    done = 0
    with progress_bar(in_bytes=True) as report:

        def advance(count: int) -> None:
            nonlocal done
            done += count
            report("Importing", done, size)

        yield advance
