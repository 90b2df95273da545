"""`memorist index status` and `rebuild`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memorist.errors import Invalid, ModelError
from memorist.platform import access
from memorist.surfaces.cli.door import Door, opened, operator_settings, reading
from memorist.surfaces.cli.flags import CREDENTIAL, STORE, Flags, new_group, with_flags
from memorist.surfaces.cli.progress import progress_bar
from memorist.surfaces.cli.terminal import note, print_json, print_table

if TYPE_CHECKING:  # Completing a command line loads this file, and must not pay for numpy.
    from memorist.recall.index.indexer import Progress

AllTenants = Annotated[bool, typer.Option("--all", help="Every tenant of the database (operator only).")]


@with_flags(*STORE, *CREDENTIAL)
def status(flags: Flags, all_: AllTenants = False) -> None:
    """Show how many memories have their vectors, and how many wait for them and are found by keyword only.

    Also how many a remote embedder refuses, and whether it makes other vectors now than those there are. After an
    upgrade that keeps the vectors, how many of them still lack tokens, which make the order better.
    """
    with reading(flags) as door:
        tenants = _tenants(door, flags, all_)
        records = [
            _described(tenant, door.core.indexer.progress(tenant)) | {"changed": _has_changed(door, tenant)}
            for tenant in tenants
        ]
    if flags.as_json:
        print_json({"items": records} if all_ else records[0])
        return
    lacks, refuses = (any(record[one] for record in records) for one in ("lacking_tokens", "refused"))
    counts = ("total", "waiting", *(["refused"] if refuses else []), *(["lacking_tokens"] if lacks else []))
    rows = [
        [record["tenant"], record["model"] or "none", *(str(record[one]) for one in counts), _percent(record)]
        for record in records
    ]
    named = {"total": "memories", "lacking_tokens": "lacking tokens"}
    print_table(["tenant", "model", *(named.get(one, one) for one in counts), "indexed"], rows, whole=["tenant"])
    if any(record["waiting"] for record in records):
        note("What waits is found by keyword. A running server sees to it, or `memorist index rebuild --resume`.")
    if changed := [record["tenant"] for record in records if record["changed"]]:
        note(
            f"The embedder makes other vectors than those of {', '.join(changed)}, under the same name. "
            "`memorist index rebuild` makes them anew, or a server that is started again."
        )
    if refuses:
        note("What the embedder refuses is found by keyword. `memorist index rebuild` asks it for all of them again.")
    if lacks:
        note(
            "What lacks tokens is found all the same. A running server adds them, or `memorist index rebuild --resume`."
        )
    if any(record["model"] is None for record in records):
        note("Meaning search is off: set MEMORIST_EMBEDDER=local, or MEMORIST_EMBEDDER_URL.")


@with_flags(*STORE, *CREDENTIAL)
def rebuild(
    flags: Flags,
    all_: AllTenants = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the vectors that are there, and make what is missing.")
    ] = False,
) -> None:
    """Make every vector anew, while recall goes on: by keyword, and by meaning as far as the vectors are there again.

    It can be stopped with Ctrl-C: what was made stays, and --resume, or a running server, goes on from there.
    """
    with opened(flags) as door:
        tenants = _tenants(door, flags, all_)
        if door.core.embedder is None:
            raise Invalid(
                "There is no embedder to make vectors with: set MEMORIST_EMBEDDER=local, or MEMORIST_EMBEDDER_URL."
            )
        for tenant in tenants:
            _rebuild(door, tenant, resume=resume)
        records = [_described(tenant, door.core.indexer.progress(tenant)) for tenant in tenants]
    if flags.as_json:
        print_json({"items": records} if all_ else records[0])
        return
    for record in records:
        note(f"{record['tenant']}: {record['total'] - record['waiting']} of {record['total']} memories are indexed.")


def _rebuild(door: Door, tenant: str, *, resume: bool) -> None:
    steps = door.core.indexer.finish(tenant, tokens=True) if resume else door.core.indexer.rebuild(tenant)
    try:
        with progress_bar() as report:
            for progress in steps:
                if progress.waiting or not progress.lacking:
                    report(f"Indexing {tenant}", progress.done, progress.total)
                else:
                    report(f"Adding tokens to {tenant}", progress.total - progress.lacking, progress.total)
    except KeyboardInterrupt:
        left = door.core.indexer.progress(tenant)
        still = f"{left.waiting} memories of {tenant} still wait" + (
            f", {left.lacking} lack tokens" if left.lacking else ""
        )
        note(f"Stopped: {still}. `memorist index rebuild --resume` goes on.")
        raise


def _has_changed(door: Door, tenant: str) -> bool | None:
    """Whether a remote embedder is another than before; None where it does not say."""
    try:
        return door.core.indexer.has_changed(tenant)
    except ModelError:
        return None


def _tenants(door: Door, flags: Flags, all_: bool) -> list[str]:
    """Those to look at, which takes an admin; all of them take the operator. Raises Forbidden or Invalid."""
    if not all_:
        holder = door.holder()
        access.require(holder, access.Action.ADMINISTER)
        return [holder.tenant]
    if flags.tenant is not None:
        raise Invalid("Name one tenant with --tenant, or ask for all of them; not both.", field="tenant")
    operator_settings(flags)
    return [tenant.id for tenant in door.core.identity.list_tenants()]


def _described(tenant: str, progress: "Progress") -> dict[str, Any]:
    # Rounded down: 100 stands for all of them.
    percent = 100.0 if progress.waiting == 0 else int(1000 * progress.done / progress.total) / 10
    return {
        "tenant": tenant,
        "model": progress.model,
        "total": progress.total,
        "waiting": progress.waiting,
        "refused": progress.refused,
        "lacking_tokens": progress.lacking,
        "percent": percent,
    }


def _percent(record: dict[str, Any]) -> str:
    return f"{record['percent']:g}%" if record["model"] else "–"


app = new_group({"status": status, "rebuild": rebuild})
