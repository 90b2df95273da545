"""`memorist import --from`: the exports of other programs."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memorist.importers import PARSERS, Source
from memorist.importers.storing import Report, check, preview, store
from memorist.surfaces.cli.door import Door, opened, settings_of
from memorist.surfaces.cli.flags import Flags
from memorist.surfaces.cli.progress import progress_bar, wait_for_vectors
from memorist.surfaces.cli.terminal import counted, note, print_json

_SHOWN = 10


def import_from(flags: Flags, source: Source, file: str, *, dry_run: bool, no_wait: bool) -> None:
    """Check all of an export, then store it, and say what came of it. Raises Invalid before anything is stored.

    A dry run compares it with what is stored, and makes no database where there is none.
    """
    path = Path(file)
    with _counting() as count:
        report = _last(check(PARSERS[source](path)), lambda so_far: count("Checking", so_far, None))
    if dry_run:
        if _has_database(flags):
            with opened(flags) as door:
                report = _previewed(door, source, path, report.seen)
    else:
        with opened(flags) as door:
            report = _stored(door, source, path, report.seen)
            if report.imported and not no_wait:
                wait_for_vectors(door.core, door.caller().tenant)
    _print(report, dry_run=dry_run, as_json=flags.as_json)


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


def _has_database(flags: Flags) -> bool:
    file = settings_of(flags).sqlite_path()
    return file is None or file.exists()


def _previewed(door: Door, source: Source, path: Path, total: int) -> Report:
    with _counting() as count:
        reports = preview(door.core.memories, door.caller(), PARSERS[source](path))
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
