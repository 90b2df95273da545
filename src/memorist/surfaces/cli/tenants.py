"""`memorist tenants create`, `list` and `delete`: for the operator of the database."""

from typing import Annotated, Any

import typer

from memorist.errors import NotFound
from memorist.platform.values import Principal, Role, Tenant
from memorist.surfaces.cli.door import opened, operator_settings, reading
from memorist.surfaces.cli.erasure import ReceiptFile, confirm, report_receipt
from memorist.surfaces.cli.flags import PLACE, REFUSED_KEY, Flags, new_group, register, with_flags
from memorist.surfaces.cli.terminal import note, print_json, print_line, print_table
from memorist.times import to_iso


@with_flags(*PLACE, *REFUSED_KEY)
def create(
    flags: Flags, name: Annotated[str, typer.Argument(metavar="NAME", help="Small letters, digits, _ and -.")]
) -> None:
    """Create a tenant. One that exists is left as it is."""
    operator_settings(flags)
    with opened(flags) as door:
        tenant, is_new = door.core.identity.create_tenant(name)
    if flags.as_json:
        print_json({**_described(tenant), "was_new": is_new})
        return
    print_line(tenant.id)
    note("Created." if is_new else "It exists already.")


@with_flags(*PLACE, *REFUSED_KEY)
def list_(flags: Flags) -> None:
    """List the tenants of the database."""
    operator_settings(flags)
    with reading(flags) as door:
        tenants = [_described(tenant) for tenant in door.core.identity.list_tenants()]
    if flags.as_json:
        print_json({"items": tenants})
    elif not tenants:
        note("There is no tenant yet. The first memory or key makes one.")
    else:
        print_table(["id", "created_at"], [list(tenant.values()) for tenant in tenants], whole=["id"])


@with_flags(*PLACE, *REFUSED_KEY)
def delete(
    flags: Flags,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tenant.")],
    at_once: Annotated[bool, typer.Option("--at-once", help="Now, instead of in 30 days.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    receipt: ReceiptFile = None,
) -> None:
    """Erase a tenant: its keys end now, and in 30 days everything that it has is erased. Its name and receipts stay.

    The server or `memorist sweep` erases it when the time has come. Without --yes it asks on the terminal.
    """
    operator_settings(flags)
    with opened(flags) as door:
        if name not in [tenant.id for tenant in door.core.identity.list_tenants()]:
            raise NotFound(f"There is no tenant {name[:60]!r}.")
        if not yes:
            confirm(f"the tenant {name!r}, everything in it and all of its keys", name)
        operator = Principal(name, Role.ADMIN, source="cli")
        report_receipt(door, door.core.erasure.delete_tenant(operator, at_once=at_once), receipt)


def _described(tenant: Tenant) -> dict[str, Any]:
    return {"id": tenant.id, "created_at": to_iso(tenant.created_at)}


app = new_group()
register(app, "create", create)
register(app, "list", list_)
register(app, "delete", delete)
