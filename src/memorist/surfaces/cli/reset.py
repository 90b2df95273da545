"""`memorist reset`."""

from typing import Annotated

import typer

from memorist.erasure.values import ErasureKind
from memorist.errors import Invalid
from memorist.platform.values import Principal
from memorist.surfaces.cli.answers import answer
from memorist.surfaces.cli.door import whose
from memorist.surfaces.cli.erasure import confirm, require_verified
from memorist.surfaces.cli.flags import ANYWHERE, IDENTITY, Flags, with_flags
from memorist.surfaces.cli.speaking import speaking
from memorist.surfaces.cli.terminal import counted


@with_flags(*ANYWHERE, *IDENTITY)
def reset(
    flags: Flags,
    whole: Annotated[bool, typer.Option("--all", help="Everything in the tenant, whoever owns it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Erase everything of the user (and agent, if one is set), or with --all of the whole tenant, to begin anew:
    memories with their history, documents, turns and all else that holds their texts. API keys stay.

    Nothing brings them back except an export made before; `memorist purge` erases so that not even that does.
    Without --yes it asks on the terminal. Exits with 1 where something was found afterwards.
    """
    with speaking(flags, whose(whole)) as memory:
        principal = memory.principal
        if not whole and principal.user is None:
            raise Invalid(
                "Say whose memories to erase with --user, or erase the whole tenant with --all.", field="user"
            )
        if not yes:
            confirm(*_described(principal))
        memory.reset()
        receipt = next(one for one in memory.receipts() if one.kind is ErasureKind.RESET)
    erased = {"tenant": principal.tenant, "user": principal.user, "agent": principal.agent}
    answer(
        flags,
        {"erased": receipt.memories, **erased, "receipt": receipt.id},
        f"{counted(receipt.memories, 'memory', 'memories')} erased.",
        remark=f"The receipt is {receipt.id}.",
    )
    require_verified(receipt)


def _described(principal: Principal) -> tuple[str, str]:
    profile = f" with the agent {principal.agent!r}" if principal.agent else ""
    if principal.user is None:
        return f"every memory{profile} of the tenant {principal.tenant!r}", principal.tenant
    return f"every memory of the user {principal.user!r}{profile} in the tenant {principal.tenant!r}", principal.user
