"""`memorist purge` and `memorist erase`: erasures, their receipts, and whether those hold."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from memorist.erasure.ledger import ledger_lines, receipt_from_record, receipt_to_record
from memorist.erasure.values import Receipt, Verification
from memorist.errors import Invalid, InvalidField, NotFound
from memorist.ids import parse_id
from memorist.surfaces.cli.answers import answer
from memorist.surfaces.cli.door import Whose, opened, operator_settings, reading
from memorist.surfaces.cli.failures import FAILED_CHECK
from memorist.surfaces.cli.flags import (
    ANYWHERE,
    CREDENTIAL,
    IDENTITY,
    REFUSED_KEY,
    STORE,
    Flags,
    new_group,
    with_flags,
    works_on_a_database,
)
from memorist.surfaces.cli.outputs import STREAM, is_written_to, named, require_free, written
from memorist.surfaces.cli.speaking import core_here, speaking
from memorist.surfaces.cli.terminal import counted, note, print_json, print_line, print_table
from memorist.times import to_iso
from memorist.verbs import Verbs

ReceiptFile = Annotated[str | None, typer.Option(metavar="FILE", help="Also write the receipt to this file, as JSON.")]


@with_flags(*ANYWHERE, *IDENTITY)
def purge(
    flags: Flags,
    keys: Annotated[bool, typer.Option("--keys", help="The user's API keys too (operator and admins).")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    receipt: ReceiptFile = None,
) -> None:
    """Erase everything of a user for good, with every agent: rows, history, payloads, documents, remembered answers.

    Neither an import nor a restored backup brings it back. The receipt counts what went from where, and says whether it
    was found anywhere afterwards; exits with 1 where it was. Without --yes it shows counts and asks on the terminal.
    """
    with speaking(flags) as memory:
        require_writable(receipt)
        if not yes:
            principal, core = memory.principal, core_here(memory)
            if core is not None:
                counts = core.erasure.preview(principal)
                found = ", ".join(f"{count} {table}" for table, count in counts.items() if count) or "nothing"
                note(f"Of the user {principal.user!r} there is: {found}.")
            confirm(
                f"everything of the user {principal.user!r} in the tenant {principal.tenant!r}", str(principal.user)
            )
        report_receipt(flags, memory, memory.purge(keys=keys), receipt)


@with_flags(*ANYWHERE, *CREDENTIAL)
def verify(
    flags: Flags,
    receipt: Annotated[str, typer.Argument(metavar="RECEIPT", help="A receipt's id, or the file of one.")],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Also look for the user's name, which no receipt holds."),
    ] = None,
) -> None:
    """Look again for what was erased: in every table of the database, and in the bytes of the SQLite files.

    The write-ahead log is emptied first. Exits with 1 where anything is found.
    """
    with speaking(flags, Whose.HOLDER, reads=True) as memory:
        found, ids = _find(memory, receipt)
        core = core_here(memory)
        if core is not None:
            verification = core.erasure.verifier.verify(found, user=name, ids=ids)
        elif name is None:
            verification = memory.verify(found.id)
        else:
            raise works_on_a_database("A server does not know --name")
    if flags.as_json:
        print_json({"receipt": found.id, **_plain(verification)})
    else:
        print_table(["looked for", "found"], _findings(verification), whole=["looked for"])
        for line in found.remains:
            note(f"Out of reach: {line}")
    if not verification.ok:
        raise typer.Exit(FAILED_CHECK)


@with_flags(*ANYWHERE, *CREDENTIAL)
def list_(flags: Flags) -> None:
    """List the receipts of the tenant or, with a user's key, one's own."""
    with speaking(flags, Whose.HOLDER, reads=True) as memory:
        receipts = memory.receipts()
    if flags.as_json:
        print_json({"items": [receipt_to_record(receipt) for receipt in receipts]})
        return
    if not receipts:
        note("There is no receipt yet.")
        return
    rows = [[one.id, one.kind, one.status, str(one.counts.get("memories", 0)), to_iso(one.due_at)] for one in receipts]
    print_table(["id", "kind", "status", "memories", "due_at"], rows, whole=["id", "status"])


@with_flags(*STORE, *REFUSED_KEY)
def resume(flags: Flags) -> None:
    """Finish erasures that were interrupted or are due. A server does so when it starts, and once an hour."""
    operator_settings(flags)
    with opened(flags) as door:
        finished = door.core.erasure.resume()
    if flags.as_json:
        print_json({"items": [receipt_to_record(receipt) for receipt in finished]})
        return
    for receipt in finished:
        print_line(receipt.id)
    note(f"{len(finished)} finished.")


@with_flags(*STORE, *REFUSED_KEY)
def ledger(
    flags: Flags,
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="Where to write; - is stdout.")] = STREAM,
) -> None:
    """Write the ledger of all tenants: what was erased, by ids and salted hashes alone. Keep it beside your backups."""
    settings = operator_settings(flags)
    if file != STREAM:
        require_free(settings, Path(file), force=True)  # An older ledger is replaced.
    with reading(flags) as door:
        lines = list(ledger_lines(door.core.store))
    if file == STREAM:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return
    with written(Path(file)) as target:
        target.writelines(f"{line}\n" for line in lines)
    if flags.as_json:
        print_json({"file": file, "lines": len(lines)})
    else:
        note(f"{len(lines)} lines written.")


@with_flags(*STORE, *REFUSED_KEY)
def apply(flags: Flags, file: Annotated[str, typer.Argument(metavar="FILE", help="A ledger.")]) -> None:
    """Erase what a ledger says was erased: after the database was restored by other means than `backup restore`.

    What is known here already is left alone, so that it can be repeated.
    """
    operator_settings(flags)
    lines = read_lines(file)
    with opened(flags) as door:
        applied = door.core.erasure.apply(lines)
    answer(flags, {"applied": [receipt.id for receipt in applied]}, remark=f"{len(applied)} erasures applied.")


def confirm(what: str, word: str) -> None:
    """Raises Invalid unless a person on a terminal types the name of what is to be erased."""
    if not sys.stdin.isatty():
        raise Invalid(f"This erases {what} for good. Confirm it with --yes, or on a terminal. Nothing was erased.")
    note(f"This erases {what} for good.")
    print(f"Type {word} to go on: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != word:
        raise Invalid("That was something else. Nothing was erased.")


def report_receipt(flags: Flags, memory: Verbs, receipt: Receipt, file: str | None) -> None:
    """Print a receipt, and write it to a file, there with the ids of what was erased, which a server does not tell.
    Exits with 1 where it is bad.
    """
    record = receipt_to_record(receipt)
    if flags.as_json:
        print_json(record)
    else:
        print_line(receipt.id)
        gone = ", ".join(f"{count} {table}" for table, count in receipt.counts.items() if count) or "nothing"
        verification = receipt.verification
        if verification is None:
            note(f"To be erased at {to_iso(receipt.due_at)}.")
        else:
            found = "Nothing of it was found afterwards." if verification.ok else "SOME OF IT IS LEFT."
            note(f"Erased: {gone}. {found}")
    # Last: it is erased, and its id is told, also where no file can be written.
    if file is not None:
        core = core_here(memory)
        whole = record if core is None else {**record, "memory_ids": core.erasure.ids_of(receipt)}
        with written(Path(file)) as target:
            target.write(json.dumps(whole, ensure_ascii=False, indent=2) + "\n")
    require_verified(receipt)


def require_writable(file: str | None) -> None:
    """Raises Invalid, before anything is erased, where a receipt could not be written to that file."""
    if file is None:
        return
    path = named(file, field="receipt")
    folder = path.resolve().parent
    if path.is_dir() or (not is_written_to(path) and not (folder.is_dir() and os.access(folder, os.W_OK))):
        raise Invalid(f"{file} cannot be written. Nothing was erased.", field="receipt")


def require_verified(receipt: Receipt) -> None:
    """Exits with 1 where something was found after an erasure."""
    if receipt.verification is not None and not receipt.verification.ok:
        raise typer.Exit(FAILED_CHECK)


def read_lines(file: str) -> list[str]:
    """The lines of a file. Raises InvalidField."""
    try:
        return Path(file).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InvalidField(f"{file} cannot be read: {reason}.", field="file") from error


def _find(memory: Verbs, text: str) -> tuple[Receipt, list[str]]:
    """The receipt of an id or a file. That of a file is taken as it is where this database does not know it."""
    if not Path(text).is_file():
        return memory.receipt(text), []
    try:
        record: dict[str, Any] = json.loads("\n".join(read_lines(text)))
        ids = [parse_id("mem", memory_id) for memory_id in record.pop("memory_ids", [])]
        receipt = receipt_from_record(record)
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidField(f"{text} holds no receipt.", field="receipt") from error
    try:
        return memory.receipt(receipt.id), ids
    except NotFound:
        if core_here(memory) is None or memory.principal.key_id is not None:
            raise
        return receipt, ids


def _findings(found: Verification) -> list[list[str]]:
    where = {table: f"{count} in {table}" for table, count in found.rows.items()}
    return [
        ["rows of it", ", ".join(where.values()) or "none"],
        [f"{counted(found.ids, 'id')} in the files", _count(found.ids_in_files)],
        *([["the name in the files", _count(found.name_in_files)]] if found.name_in_files is not None else []),
    ]


def _count(found: int | None) -> str:
    return "not looked: they are the server's" if found is None else str(found) if found else "none"


def _plain(verification: Verification) -> dict[str, Any]:
    return {
        "ok": verification.ok,
        "checked_at": to_iso(verification.checked_at),
        "ids": verification.ids,
        "rows": dict(verification.rows),
        "ids_in_files": verification.ids_in_files,
        "name_in_files": verification.name_in_files,
    }


app = new_group({"verify": verify, "list": list_, "resume": resume, "ledger": ledger, "apply": apply})
