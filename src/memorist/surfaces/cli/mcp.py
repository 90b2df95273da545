"""`memorist mcp`."""

from typing import Annotated

import typer

from memorist.errors import Invalid
from memorist.surfaces.cli.flags import IDENTITY, STORE, Flags, with_flags


@with_flags(*STORE, *IDENTITY)
def mcp(
    flags: Flags,
    session: Annotated[
        str | None, typer.Option("--session", metavar="NAME", help="Session that recall looks into first.")
    ] = None,
) -> None:
    """Serve one MCP client over stdin and stdout, until it closes them.

    Opens the database itself, which any number of clients may do at once. With MEMORIST_URL set, and neither --data nor
    --database given, it passes everything on to that server, with the API key.
    """
    from memorist.bootstrap import run_mcp
    from memorist.surfaces.cli.door import settings_of

    if flags.as_json:
        raise Invalid("memorist mcp speaks its own protocol, and takes no --json.")
    settings = settings_of(flags)
    run_mcp(settings, tenant=flags.tenant, user=flags.user, agent=flags.agent, session=session)
