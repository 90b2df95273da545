"""`memorist tenants create`, `list` and `delete`: for the operator of the database."""

from typing import Annotated, Any

import typer

from memorist.errors import NotFound
from memorist.platform import acts
from memorist.platform.acts import ActKind
from memorist.platform.values import Principal, Role, Tenant
from memorist.surfaces.cli.answers import answer, answer_list
from memorist.surfaces.cli.door import Whose, opened, operator_settings, reading
from memorist.surfaces.cli.erasure import ReceiptFile, confirm, report_receipt, require_writable
from memorist.surfaces.cli.flags import REFUSED_KEY, STORE, Flags, new_group, with_flags
from memorist.times import to_iso


@with_flags(*STORE, *REFUSED_KEY)
def create(
    flags: Flags, name: Annotated[str, typer.Argument(metavar="NAME", help="Small letters, digits, _ and -.")]
) -> None:
    """Create a tenant. One that exists is left as it is."""
    operator_settings(flags)
    with opened(flags) as door:
        tenant, is_new = door.core.identity.create_tenant(name)
        acts.by(Principal(tenant.id, Role.ADMIN, source="cli"))
        acts.mark(ActKind.KEYS if is_new else ActKind.READ)
    answer(
        flags,
        {**_described(tenant), "was_new": is_new},
        tenant.id,
        remark="Created." if is_new else "It exists already.",
    )


@with_flags(*STORE, *REFUSED_KEY)
def list_(flags: Flags) -> None:
    """List the tenants of the database."""
    operator_settings(flags)
    with reading(flags) as door:
        tenants = [_described(tenant) for tenant in door.core.identity.list_tenants()]
    empty = "There is no tenant yet. The first memory or key makes one."
    answer_list(flags, tenants, ["id", "created_at"], whole=["id"], empty=empty)


@with_flags(*STORE, *REFUSED_KEY)
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
    require_writable(receipt)
    with opened(flags) as door:
        if name not in [tenant.id for tenant in door.core.identity.list_tenants()]:
            raise NotFound(f"There is no tenant {name[:60]!r}.")
        if not yes:
            confirm(f"the tenant {name!r}, everything in it and all of its keys", name)
        operator = acts.by(Principal(name, Role.ADMIN, source="cli"))
        erased = door.core.erasure.delete_tenant(operator, confirm=name, at_once=at_once)
        report_receipt(flags, door.verbs(Whose.HOLDER), erased, receipt)


def _described(tenant: Tenant) -> dict[str, Any]:
    return {"id": tenant.id, "created_at": to_iso(tenant.created_at)}


app = new_group({"create": create, "list": list_, "delete": delete})
