"""`memorist tokens create` and `revoke`."""

from datetime import timedelta
from typing import Annotated

import typer

from memorist.codec import to_record
from memorist.platform.values import TokenRights
from memorist.surfaces.cli.answers import answer
from memorist.surfaces.cli.door import Whose
from memorist.surfaces.cli.flags import ANYWHERE, CREDENTIAL, Flags, new_group, with_flags
from memorist.surfaces.cli.speaking import speaking
from memorist.times import to_iso

_User = Annotated[str, typer.Argument(metavar="USER", help="Whom a token stands for.")]


@with_flags(*ANYWHERE, *CREDENTIAL)
def create(
    flags: Flags,
    user: _User,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Agent that it is bound to.")] = None,
    rights: Annotated[TokenRights, typer.Option(help="What its holder may do.")] = TokenRights.WRITE,
    minutes: Annotated[
        float, typer.Option(metavar="N", help="How long it lives: from a minute to a day (1440).", min=1, max=1440)
    ] = 15,
) -> None:
    """Make a token of one user for a page in a browser, and print it, this once: only its hash is kept."""
    with speaking(flags, Whose.HOLDER) as memory:
        made = memory.create_token(user, agent=agent, rights=rights, lifetime=timedelta(minutes=minutes))
    remark = f"Stands for {made.user}, to {made.rights}, until {to_iso(made.expires_at)}."
    answer(flags, to_record(made), made.token, remark=remark)


@with_flags(*ANYWHERE, *CREDENTIAL)
def revoke(flags: Flags, user: _User) -> None:
    """End all tokens of a user at once, in every process."""
    with speaking(flags, Whose.HOLDER) as memory:
        count = memory.revoke_tokens(user)
    answer(flags, {"revoked": count}, str(count), remark="Revoked.")


app = new_group({"create": create, "revoke": revoke})
