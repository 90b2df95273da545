"""`memorist encryption status`, `enable` and `rotate`: for the operator of the database."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from memorist.bootstrap import encryption_of, resealing_of
from memorist.codec import to_record
from memorist.errors import Conflict
from memorist.platform import acts
from memorist.platform.acts import ActKind
from memorist.running_servers import running
from memorist.surfaces.cli.db import existing_store
from memorist.surfaces.cli.door import opened, operator_settings
from memorist.surfaces.cli.flags import REFUSED_KEY, STORE, TENANT, Flags, new_group, with_flags
from memorist.surfaces.cli.progress import progress_bar
from memorist.surfaces.cli.terminal import counted, note, print_json, print_table

Work = Callable[[str, Callable[[str, int], object]], tuple[str, ...]]
"""Encrypts a tenant, and tells of each table how many rows; returns what may still hold them as they were."""
AllTenants = Annotated[bool, typer.Option("--all", help="Every tenant of the database.")]


@with_flags(*STORE, *REFUSED_KEY)
def status(flags: Flags) -> None:
    """Show which tenants are encrypted, and whether all that they have is."""
    settings = operator_settings(flags)
    with existing_store(settings) as store:
        found = encryption_of(store)
    if flags.as_json:
        print_json({"key_is_set": settings.encrypts, "items": [to_record(one) for one in found]})
        return
    how = {(False, False): "no", (True, False): "in part", (True, True): "yes"}
    rows = [[one.tenant, how[one.is_encrypted, one.is_complete], str(one.keys), one.master] for one in found]
    print_table(["tenant", "encrypted", "keys", "master key"], rows, whole=["tenant"])
    if any(one.is_encrypted and not one.is_complete for one in found):
        note("`memorist encryption enable` goes on where it was stopped.")
    if not settings.encrypts:
        note("No key is set: a new tenant is stored in plain text.")


@with_flags(*STORE, TENANT, *REFUSED_KEY)
def enable(flags: Flags, all_: AllTenants = False) -> None:
    """Encrypt all that a tenant has, while it is in use. New tenants are encrypted from the beginning.

    It can be stopped: what was encrypted stays so, and the next time it goes on. Every process that opens the database
    needs the key before.
    """
    with _at_work(flags, all_) as (work, tenants):
        _report(flags, tenants, *_work_through(tenants, work.enable))


@with_flags(*STORE, TENANT, *REFUSED_KEY)
def rotate(
    flags: Flags,
    all_: AllTenants = False,
    new_data_key: Annotated[
        bool, typer.Option("--new-data-key", help="Make a new data key too, and encrypt everything anew.")
    ] = False,
) -> None:
    """Wrap the keys of a tenant with the current master key, the first of those that are set; the others can go then.

    It can be stopped, and goes on the next time.
    """
    with _at_work(flags, all_) as (work, tenants):
        wrapped = sum(map(work.rewrap, tenants))
        rows, remains = _work_through(tenants, work.rotate) if new_data_key else (0, [])
        _report(flags, tenants, rows, remains, {"keys_wrapped": wrapped})
    if not flags.as_json:
        note(f"{counted(wrapped, 'key was', 'keys were')} wrapped by the current master key.")


@contextmanager
def _at_work(flags: Flags, all_: bool) -> Iterator[tuple[Any, list[str]]]:
    settings = operator_settings(flags)
    if servers := running(settings, without_key=True):
        raise Conflict(f"The server at {servers[0]} has no key. Start it again with the key, and then encrypt.")
    with opened(flags) as door:
        work = resealing_of(door.core)
        operator = door.holder()
        acts.mark(ActKind.KEYS)
        tenants = [tenant.id for tenant in door.core.identity.list_tenants()] if all_ else [operator.tenant]
        yield work, tenants


def _work_through(tenants: list[str], work: Work) -> tuple[int, list[str]]:
    """Returns how many rows were encrypted, and what may still hold them as they were."""
    rows: Counter[str] = Counter()
    remains: dict[str, None] = {}
    with progress_bar() as report:

        def count(table: str, more: int) -> None:
            rows[table] += more
            report(f"encrypting {table}", rows[table], None)

        for tenant in tenants:
            remains |= dict.fromkeys(work(tenant, count))
    return rows.total(), list(remains)


def _report(
    flags: Flags, tenants: list[str], rows: int, remains: list[str], more: Mapping[str, int] | None = None
) -> None:
    if flags.as_json:
        print_json({"tenants": tenants, "rows": rows, "remains": remains, **(more or {})})
        return
    note(f"{counted(rows, 'row was', 'rows were')} encrypted.")
    for one in remains:
        note(f"May still hold what was there before: {one}")


app = new_group({"status": status, "enable": enable, "rotate": rotate})
