"""`memorist audit tail`, `verify` and `export`."""

import json
from typing import Annotated

import typer

from memorist.audit.records import entry_record
from memorist.audit.values import NO_TENANT, AuditEntry
from memorist.codec import to_record
from memorist.errors import InvalidField
from memorist.platform.acts import ActKind
from memorist.platform.values import Principal, Role
from memorist.surfaces.cli.answers import answer_page
from memorist.surfaces.cli.door import Door, operator_settings, reading
from memorist.surfaces.cli.failures import FAILED_CHECK
from memorist.surfaces.cli.flags import CREDENTIAL, STORE, Cursor, Flags, Limit, new_group, with_flags
from memorist.surfaces.cli.terminal import counted, note, print_json, print_line
from memorist.times import to_iso

OfNoTenant = Annotated[
    bool, typer.Option("--server", help="What belongs to no tenant, such as refusals of unknown keys (operator).")
]


@with_flags(*STORE, *CREDENTIAL)
def tail(
    flags: Flags,
    kind: Annotated[ActKind | None, typer.Option(help="Only these.")] = None,
    outcome: Annotated[
        str | None, typer.Option(metavar="CODE", help="Only these: ok, or the code of an error.")
    ] = None,
    route: Annotated[str | None, typer.Option(metavar="ROUTE", help="Only these, such as `keys create`.")] = None,
    with_key: Annotated[
        str | None, typer.Option(metavar="ID", help="Only what was done with the key of this id, as key_….")
    ] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Only what was done as or for this user.")] = None,
    about: Annotated[
        str | None, typer.Option(metavar="ID", help="Only where an address had this id or name in it.")
    ] = None,
    server: OfNoTenant = False,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """Show the newest entries of the audit log of a tenant, newest first."""
    with reading(flags) as door:
        page = door.core.audit.list(
            _admin(door, server),
            kind=kind,
            outcome=outcome,
            route=route,
            key=with_key,
            user=user,
            about=about,
            limit=limit,
            cursor=cursor,
        )
    columns = ["number", "at", "kind", "door", "route", "outcome", "key", "role", "user", "times"]

    def row(entry: AuditEntry) -> list[str]:
        act = entry.act
        user = f"{act.user} (for)" if act.on_behalf else act.user
        shown = (entry.number, to_iso(act.at)[:19], act.kind, act.door, act.route, act.outcome, act.key_id, act.role)
        return [*map(str, shown), user, str(act.times)]

    answer_page(
        flags, page, entry_record, columns, row, whole=["number", "at", "kind"], empty="There are no such entries."
    )


@with_flags(*STORE, *CREDENTIAL)
def verify(
    flags: Flags,
    expect: Annotated[
        str | None, typer.Option(metavar="NUMBER:HASH", help="An entry as an earlier verification printed it.")
    ] = None,
    server: OfNoTenant = False,
) -> None:
    """Check that no entry was changed, removed, inserted or moved, which reads all of them.

    Prints the number and the hash of the last one: keep them elsewhere, and pass them with --expect the next time.
    Exits with 1 where something is wrong.
    """
    with reading(flags) as door:
        check = door.core.audit.verify(_admin(door, server), None if expect is None else _noted(expect))
    if flags.as_json:
        print_json(to_record(check) | {"ok": check.is_whole})
    else:
        for finding in check.findings:
            print_line(finding)
        if check.is_whole:
            print_line(f"{check.number}:{check.hash}")
            note(
                f"{counted(check.entries, 'entry is', 'entries are')} as written, from {check.first} to {check.number}."
            )
    if not check.is_whole:
        raise typer.Exit(FAILED_CHECK)


@with_flags(*STORE, *CREDENTIAL)
def export(flags: Flags, server: OfNoTenant = False) -> None:
    """Print all entries, oldest first, as lines of JSON."""
    with reading(flags) as door:
        for entry in door.core.audit.entries(_admin(door, server)):
            print_line(json.dumps(entry_record(entry)))


def _admin(door: Door, server: bool) -> Principal:
    if server:
        operator_settings(door.flags)
        return Principal(NO_TENANT, Role.ADMIN, source="cli")
    return door.holder()


def _noted(text: str) -> tuple[int, str]:
    number, _, digest = text.partition(":")
    if not number.isdigit() or len(digest) != 64:
        raise InvalidField.of("expect", "must be a number and a hash, as `memorist audit verify` prints them.")
    return int(number), digest


app = new_group({"tail": tail, "verify": verify, "export": export})
