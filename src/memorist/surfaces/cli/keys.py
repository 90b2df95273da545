"""`memorist keys create`, `list` and `revoke`."""

import re
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from memorist.errors import InvalidField
from memorist.platform.values import ApiKey, Role
from memorist.surfaces.cli.answers import answer, answer_list
from memorist.surfaces.cli.door import opened, reading
from memorist.surfaces.cli.flags import CREDENTIAL, STORE, Flags, new_group, with_flags
from memorist.surfaces.cli.terminal import note
from memorist.times import from_iso, to_iso


@with_flags(*STORE, *CREDENTIAL)
def create(
    flags: Flags,
    role: Annotated[Role, typer.Option(help="What the key may do.")],
    user: Annotated[str | None, typer.Option(metavar="NAME", help="User that the key is bound to.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Agent that the key is bound to.")] = None,
    label: Annotated[str | None, typer.Option(metavar="LINE", help="What the key is for.")] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="WHEN", help="When it ends by itself: 2027-01-31, or in 90d or 12h.")
    ] = None,
) -> None:
    """Create an API key and print it, this once: only its hash is kept."""
    with opened(flags) as door:
        principal = door.holder()
        tenants = {tenant.id for tenant in door.core.identity.list_tenants()}
        expires_at = None if expires is None else _end(expires, door.core.clock.now())
        key, secret = door.core.identity.create_key(
            principal, role, user=user, agent=agent, label=label, expires_at=expires_at
        )
    if key.tenant not in tenants:
        note(f"The tenant {key.tenant} is new.")
    answer(
        flags,
        {"id": key.id, "key": secret, **_described(key)},
        secret,
        remark=f"{key.id}: {key.role} key of the tenant {key.tenant}. Keep it now: it is not shown again.",
    )


@with_flags(*STORE, *CREDENTIAL)
def list_(flags: Flags) -> None:
    """List the API keys of a tenant, revoked ones too. The keys themselves are kept nowhere."""
    with reading(flags) as door:
        keys = door.core.identity.list_keys(door.holder())
    records = [{"id": key.id, **_described(key), **_usage(key)} for key in keys]
    columns = ["id", "role", "user", "agent", "label", "created_at", "last_used_at", "expires_at", "revoked_at"]
    empty = "There is no key yet. `memorist keys create` makes one."
    answer_list(flags, records, columns, whole=["id"], empty=empty)


@with_flags(*STORE, *CREDENTIAL)
def revoke(flags: Flags, key_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as key_….")]) -> None:
    """End a key at once, in every process."""
    with opened(flags) as door:
        door.core.identity.revoke_key(door.holder(), key_id)
    answer(flags, {"id": key_id, "revoked": True}, key_id, remark="Revoked.")


def _described(key: ApiKey) -> dict[str, Any]:
    return {
        "tenant": key.tenant,
        "role": key.role,
        "user": key.user,
        "agent": key.agent,
        "label": key.label,
        "created_at": to_iso(key.created_at),
        "expires_at": to_iso(key.expires_at) if key.expires_at else None,
    }


def _end(text: str, now: datetime) -> datetime:
    """Raises InvalidField."""
    span = re.fullmatch(r"(\d{1,5})([dh])", text)
    try:
        return now + timedelta(hours=int(span[1]) * (24 if span[2] == "d" else 1)) if span else from_iso(text)
    except ValueError:
        raise InvalidField.of("expires", "must be a time such as 2027-01-31, or a while such as 90d or 12h.") from None


def _usage(key: ApiKey) -> dict[str, Any]:
    return {
        "last_used_at": to_iso(key.last_used_at) if key.last_used_at else None,
        "revoked_at": to_iso(key.revoked_at) if key.revoked_at else None,
    }


app = new_group({"create": create, "list": list_, "revoke": revoke})
