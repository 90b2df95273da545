"""`memorist import --from`: the exports of other programs."""

import hashlib
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from memorist.errors import Invalid
from memorist.importers import PARSERS, Source
from memorist.importers.items import Found
from memorist.importers.storing import Report, check, preview, store
from memorist.memories.service import Memories
from memorist.platform.values import Principal, Role
from memorist.surfaces.cli.door import Door, opened, settings_of
from memorist.surfaces.cli.flags import Flags
from memorist.surfaces.cli.outputs import ended_in_order
from memorist.surfaces.cli.progress import progress_bar, wait_for_vectors
from memorist.surfaces.cli.scratch import scratch
from memorist.surfaces.cli.terminal import counted, note, print_json

_STREAM = "-"
_SHOWN = 10
_BEGINNING = 4096
_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"


def import_from(flags: Flags, source: Source, file: str, *, dry_run: bool, no_wait: bool) -> None:
    """Check all of an export, then store it, and say what came of it. Raises Invalid before anything is stored.

    A dry run compares it with what is stored, and makes no database where there is none.
    """
    with _on_disk(file) as path:
        report = _imported(flags, source, path, dry_run=dry_run, no_wait=no_wait)
    _print(report, dry_run=dry_run, as_json=flags.as_json)


@contextmanager
def _on_disk(file: str) -> Iterator[Path]:
    """The file, or one with what comes through a pipe: a parser looks at the beginning first, and reads twice."""
    path = Path(file)
    if file != _STREAM and not path.is_fifo():
        yield path
        return
    with ended_in_order(), TemporaryDirectory(prefix="memorist-") as folder:
        copy = Path(folder) / "stdin"
        try:
            with copy.open("wb") as target:
                if file == _STREAM:
                    shutil.copyfileobj(sys.stdin.buffer, target)
                else:
                    with path.open("rb") as source:
                        shutil.copyfileobj(source, target)
        except OSError as error:
            raise Invalid(f"{file} cannot be read: {error.strerror}.", field="path") from error
        with copy.open("rb") as source:
            is_json = source.read(_BEGINNING).lstrip(_BEFORE_JSON).startswith((b"[", b"{"))
            source.seek(0)
            # A text is named after its file: of two that come through a pipe, each has a name of its own.
            stem = copy.name if is_json else f"{copy.name}-{hashlib.file_digest(source, 'sha256').hexdigest()[:8]}"
        # Some know by the ending of the name what they read.
        yield copy.rename(copy.with_name(f"{stem}{'.json' if is_json else '.md'}"))


def _imported(flags: Flags, source: Source, path: Path, *, dry_run: bool, no_wait: bool) -> Report:
    with _counting() as count:
        report = _last(check(PARSERS[source](path)), lambda so_far: count("Checking", so_far, None))
    if dry_run:
        with _compared_with(flags) as (memories, principal):
            report = _previewed(memories, principal, PARSERS[source](path), report.seen)
    else:
        with opened(flags) as door:
            report = _stored(door, source, path, report.seen)
            if report.imported and not no_wait:
                wait_for_vectors(door.core, door.caller().tenant)
    return report


def _stored(door: Door, source: Source, path: Path, total: int) -> Report:
    principal = door.caller()
    door.make_tenant(principal)
    report = Report()
    try:
        with _counting() as count:
            for report in store(door.core.memories, principal, PARSERS[source](path)):
                count("Importing", report, total)
    except BaseException:
        if report.imported:
            note(
                f"{counted(report.imported, 'memory was', 'memories were')} imported before this; "
                "importing again goes on from there."
            )
        raise
    return report


@contextmanager
def _compared_with(flags: Flags) -> Iterator[tuple[Memories, Principal]]:
    """What is stored, and for whom it would be; where there is no database, an empty one of which nothing stays."""
    file = settings_of(flags).sqlite_path()
    if file is None or file.exists():
        with opened(flags) as door:
            yield door.core.memories, door.caller()
    else:
        with scratch(replace(flags, data=None, database=None)) as empty:
            yield empty.core.memories, Principal(empty.tenant, Role.USER, empty.prefix)


def _previewed(memories: Memories, principal: Principal, found: Iterator[Found], total: int) -> Report:
    with _counting() as count:
        reports = preview(memories, principal, found)
        return _last(reports, lambda so_far: count("Comparing", so_far, total))


def _last(reports: Iterator[Report], count: Callable[[Report], None]) -> Report:
    report = Report()
    for report in reports:
        count(report)
    return report


@contextmanager
def _counting() -> Iterator[Callable[[str, Report, int | None], None]]:
    with progress_bar() as show:
        yield lambda doing, report, total: show(doing, report.seen, total)


def _print(report: Report, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "dry_run": dry_run,
                "imported": report.imported,
                "already_there": report.already_there,
                "categories": dict(sorted(report.categories.items())),
                "skipped": [{"place": one.where, "reason": one.reason} for one in report.skipped],
            }
        )
        return
    if dry_run:
        taken = f", {report.names_taken} names are taken" if report.names_taken else ""
        note(
            f"{report.imported} would be imported, {report.already_there} are there already{taken}; nothing was stored."
        )
    else:
        note(f"{report.imported} imported, {report.already_there} were there already.")
    for category, count in sorted(report.categories.items()):
        note(f"  {category}: {count}")
    if report.skipped:
        note(f"{len(report.skipped)} skipped:")
        for one in report.skipped[:_SHOWN]:
            note(f"  {one.where}: {one.reason}")
        rest = Counter(one.reason for one in report.skipped[_SHOWN:])
        for reason, count in rest.most_common(_SHOWN):
            note(f"  {count} more: {reason}")
