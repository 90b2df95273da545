"""`memorist serve`."""

from typing import Annotated

import typer

from memorist.settings import load_settings
from memorist.surfaces.cli.flags import STORE, Flags, with_flags


@with_flags(*STORE)
def serve(
    flags: Flags,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(metavar="PORT", help="Port to listen on; 0 takes a free one.")] = None,
) -> None:
    """Run the server until it is stopped with Ctrl-C or SIGTERM."""
    from memorist.bootstrap import run_server

    loaded = load_settings({**flags.as_settings(), "host": host, "port": port})
    run_server(loaded.settings, as_json=flags.as_json, origins=loaded.origins)
