"""`memorist mcp`."""

from typing import Annotated

import typer

from memorist.errors import Invalid
from memorist.surfaces.cli.flags import ANYWHERE, IDENTITY, Flags, with_flags


@with_flags(*ANYWHERE, *IDENTITY)
def mcp(
    flags: Flags,
    session: Annotated[
        str | None, typer.Option("--session", metavar="NAME", help="Session that recall looks into first.")
    ] = None,
) -> None:
    """Serve one MCP client over stdin and stdout, until it closes them.

    Opens the database itself, which any number of clients may do at once. Where --url, MEMORIST_URL or a connection
    names a server, and neither --data nor --database is given, it passes everything on to that, with the API key.
    """
    from memorist.bootstrap import run_mcp
    from memorist.surfaces.cli.door import settings_of

    if flags.as_json:
        raise Invalid("memorist mcp speaks its own protocol, and takes no --json.")
    settings = settings_of(flags)
    run_mcp(settings, tenant=flags.tenant, user=flags.user, agent=flags.agent, session=session)
