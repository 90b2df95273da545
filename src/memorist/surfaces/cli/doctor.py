"""`memorist doctor`."""

from dataclasses import asdict

import typer

from memorist.surfaces.cli.checks import Health, examine
from memorist.surfaces.cli.failures import FAILED_CHECK
from memorist.surfaces.cli.flags import STORE, Flags, with_flags
from memorist.surfaces.cli.terminal import note, print_json, print_table

_COLOURS: dict[str, str] = {Health.OK: "green", Health.WARNING: "yellow", Health.PROBLEM: "bold red"}


@with_flags(*STORE)
def doctor(flags: Flags) -> None:
    """Check this installation and its database, and say what to do. Changes nothing; exits with 1 on a problem."""
    findings = list(examine(flags))
    healthy = all(finding.state is not Health.PROBLEM for finding in findings)
    if flags.as_json:
        print_json({"ok": healthy, "checks": [asdict(finding) for finding in findings]})
    else:
        rows = [[finding.state, finding.check, finding.message] for finding in findings]
        print_table(["", "check", "finding"], rows, whole=["", "check"], colours=_COLOURS)
        note("Everything works." if healthy else "Something needs repair.")
    if not healthy:
        raise typer.Exit(FAILED_CHECK)
