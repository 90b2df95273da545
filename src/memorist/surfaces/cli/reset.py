"""`memorist reset`."""

from typing import Annotated

import typer

from memorist.errors import Invalid
from memorist.platform.values import Principal
from memorist.surfaces.cli.answers import answer
from memorist.surfaces.cli.door import opened
from memorist.surfaces.cli.erasure import confirm
from memorist.surfaces.cli.flags import IDENTITY, STORE, Flags, with_flags
from memorist.surfaces.cli.terminal import counted


@with_flags(*STORE, *IDENTITY)
def reset(
    flags: Flags,
    whole: Annotated[bool, typer.Option("--all", help="Everything in the tenant, whoever owns it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Erase memories for good, with their history: those of the user (and agent, if one is set), or with --all of
    the whole tenant. API keys stay.

    Nothing brings them back except an export made before; `memorist purge` erases so that not even that does, and
    proves it. Without --yes it asks on the terminal.
    """
    with opened(flags) as door:
        principal = door.everybody() if whole else door.caller()
        if not whole and principal.user is None:
            raise Invalid(
                "Say whose memories to erase with --user, or erase the whole tenant with --all.", field="user"
            )
        if not yes:
            confirm(*_described(principal))
        erased = door.core.memories.reset(principal)
    answer(
        flags,
        {"erased": erased, "tenant": principal.tenant, "user": principal.user, "agent": principal.agent},
        f"{counted(erased, 'memory', 'memories')} erased.",
    )


def _described(principal: Principal) -> tuple[str, str]:
    profile = f" with the agent {principal.agent!r}" if principal.agent else ""
    if principal.user is None:
        return f"every memory{profile} of the tenant {principal.tenant!r}", principal.tenant
    return f"every memory of the user {principal.user!r}{profile} in the tenant {principal.tenant!r}", principal.user
