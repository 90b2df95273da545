"""`memorist archive`, `restore`, `sweep` and `policy show|set`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import typer

from memorist.errors import Invalid, InvalidField
from memorist.memories.policies import PolicyChange, change_to_record, changed, revision_to_record
from memorist.memories.policy import Mode, Policy
from memorist.memories.sweeper import Sweep
from memorist.memories.values import Kind, Memory
from memorist.surfaces.cli.door import Whose
from memorist.surfaces.cli.flags import ANYWHERE, CREDENTIAL, IDENTITY, Flags, new_group, with_flags
from memorist.surfaces.cli.records import memory_record
from memorist.surfaces.cli.speaking import core_here, only_here, speaking
from memorist.surfaces.cli.terminal import note, print_json, print_line, print_table
from memorist.verbs import Verbs

Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of the memories.")]


@with_flags(*ANYWHERE, *IDENTITY)
def archive(flags: Flags, memory_ids: Ids) -> None:
    """Archive memories: out of recall and of lists, and still readable by their ids.

    One by one; the first that cannot be archived ends the command, and those before it are printed.
    """
    moved = _each(flags, memory_ids, lambda memory: memory.archive)
    note(f"{len(moved)} archived.")


@with_flags(*ANYWHERE, *IDENTITY)
def restore(flags: Flags, memory_ids: Ids) -> None:
    """Restore memories that are archived, replaced by another, or deleted and still recoverable.

    One by one; the first that cannot be restored ends the command, and those before it are printed.
    """
    moved = _each(flags, memory_ids, lambda memory: memory.restore)
    note(f"{len(moved)} restored.")


def _each(flags: Flags, memory_ids: list[str], verb: Callable[[Verbs], Callable[[str], Memory]]) -> list[Memory]:
    moved: list[Memory] = []
    try:
        with speaking(flags) as memory:
            for memory_id in memory_ids:
                # One by one, so that what was done before an error is known.
                moved.append(verb(memory)(memory_id))  # noqa: PERF401
    finally:
        if flags.as_json:
            print_json({"items": [memory_record(one) for one in moved]})
        else:
            for one in moved:
                print_line(one.id)
    return moved


@with_flags(*ANYWHERE, *CREDENTIAL)
def sweep(
    flags: Flags,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what an enforced sweep would do.")] = False,
) -> None:
    """Do what time asks for, once: what is past its TTL goes and, where the policy is enforced, what is due moves on.

    For cron; a server does the same by itself. Where the policy observes, what is due is only counted. Without --tenant
    and --key all tenants are swept. Any number of sweeps may run at the same time.
    """
    with speaking(flags, Whose.HOLDER) as memory:
        core = core_here(memory)
        if core is None or flags.tenant is not None or memory.principal.key_id is not None:
            sweeps = [memory.sweep(dry_run=dry_run)]
        else:
            run = core.sweeper.dry_run if dry_run else core.sweeper.sweep
            sweeps = [run(tenant.id) for tenant in core.identity.list_tenants()]
            if not dry_run:
                core.erasure.resume()
    if flags.as_json:
        print_json({"sweeps": [one.to_record() for one in sweeps]})
        return
    rows = [row for one in sweeps for row in _rows(one)]
    if rows:
        print_table(["tenant", "move", "kind", "done", "due"], rows, whole=["tenant", "move"])
    observing = [one.tenant for one in sweeps if one.mode is Mode.OBSERVE and one.due]
    if not rows:
        note("Nothing is due.")
    elif observing and not dry_run:
        note("What is due was left: the policy observes. `memorist policy set --mode enforce` has it done.")


def _rows(one: Sweep) -> list[list[str]]:
    found = sorted({(move, kind) for counts in (one.done, one.due) for move in counts for kind in counts[move]})
    return [
        [one.tenant, move, kind, *(str(counts.get(move, {}).get(kind, 0)) for counts in (one.done, one.due))]
        for move, kind in found
    ]


@with_flags(*ANYWHERE, *CREDENTIAL)
def show(
    flags: Flags,
    history: Annotated[bool, typer.Option("--history", help="Also the last changes, newest first.")] = False,
) -> None:
    """Show a tenant's retention policy."""
    with speaking(flags, Whose.HOLDER, reads=True) as memory:
        revision = memory.policy()
        changes = _history(memory) if history else []
    record = revision_to_record(revision)
    if flags.as_json:
        print_json({**record, "history": changes} if history else record)
        return
    print_table(["rule", "value"], [[name, _shown(value)] for name, value in record.items()], whole=["rule"])
    if changes:
        columns = ["revision", "changed_at", "changed_by", "mode"]
        print_table(columns, [[_shown(one[column]) for column in columns] for one in changes], whole=["changed_at"])


@with_flags(*ANYWHERE, *CREDENTIAL)
def set_(
    flags: Flags,
    mode: Annotated[
        Mode | None, typer.Option(help="observe only counts what is due; enforce does it; auto observes at first.")
    ] = None,
    active_days: Annotated[float | None, typer.Option(metavar="DAYS", help="How long a memory is active.")] = None,
    use_archive: Annotated[
        bool | None, typer.Option("--archive/--no-archive", help="Whether it is archived before it is deleted.")
    ] = None,
    archive_days: Annotated[float | None, typer.Option(metavar="DAYS", help="How long it is archived.")] = None,
    grace_days: Annotated[
        float | None, typer.Option(metavar="DAYS", help="How long what is deleted can be restored.")
    ] = None,
    anonymize_after_days: Annotated[
        float | None, typer.Option(metavar="DAYS", help="When facts that were replaced are anonymized.")
    ] = None,
    derived_facts: Annotated[
        str | None, typer.Option(metavar="detach|erase", help="What an erasure does with facts learned from a source.")
    ] = None,
    users_share_documents: Annotated[
        bool | None,
        typer.Option(
            "--users-share-documents/--no-users-share-documents",
            help="Whether a user's key may share documents with the whole tenant.",
        ),
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="Set the days and the archive for this kind alone.")] = None,
    clear_kind: Annotated[Kind | None, typer.Option(help="Let this kind follow the others again.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many rows the change would touch.")] = False,
) -> None:
    """Change a tenant's retention policy, and give every row its new deadlines.

    Says how many rows that touches, by kind, and what is then due; with --dry-run nothing else happens.
    """
    windows = _given(active_days=active_days, archive=use_archive, archive_days=archive_days, grace_days=grace_days)
    if kind is not None and not windows:
        raise Invalid("Say what differs for the kind, such as --active-days.", field="kind")
    if kind is not None and kind is clear_kind:
        raise InvalidField("A kind cannot be set and cleared at once.", field="clear_kind")
    changes = _given(
        mode=mode,
        anonymize_after_days=anonymize_after_days,
        derived_facts=derived_facts,
        users_share_documents=users_share_documents,
    )
    changes |= windows if kind is None else {}
    kinds = ({kind: windows} if kind else {}) | ({clear_kind: None} if clear_kind else {})
    changes |= {"kinds": kinds} if kinds else {}
    if not changes:
        raise Invalid("Name at least one rule to change. `memorist policy set --help` lists them.")
    changed(Policy(), changes)  # Refused before a tenant is made for it.
    with speaking(flags, Whose.HOLDER) as memory:
        change = memory.set_policy(changes, dry_run=dry_run)
        core = core_here(memory)
        while core is not None and change.pending:
            if core.policies.recompute(memory.principal.tenant, batches=100):
                change = replace(change, pending=False)
    _print_change(flags, change)


def _history(memory: Verbs) -> list[dict[str, Any]]:
    me = only_here(memory, "--history")
    return [revision_to_record(one) for one in me.core.policies.history(me.principal)]


def _print_change(flags: Flags, change: PolicyChange) -> None:
    if flags.as_json:
        print_json(change_to_record(change))
        return
    touched = [[kind, str(count)] for kind, count in sorted(change.touched.items())]
    if touched:
        print_table(["kind", "rows with other deadlines"], touched, whole=["kind"])
    due = [[move, kind, str(count)] for move, kinds in change.due.items() for kind, count in kinds.items()]
    if due:
        print_table(["due at once", "kind", "rows"], due, whole=["due at once"])
    note("Nothing was changed." if change.dry_run else f"Changed: revision {change.revision}, {change.after.mode}.")


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{kind}: {windows}" for kind, windows in value.items()) or "none"
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


app = new_group({"show": show, "set": set_})
