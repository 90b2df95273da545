"""`memorist serve`."""

import sys
from typing import Annotated

import typer

from memorist.errors import MemoristError
from memorist.settings_sources import load_settings
from memorist.surfaces.cli.door import tell_warnings
from memorist.surfaces.cli.failures import report
from memorist.surfaces.cli.flags import STORE, Flags, with_flags


@with_flags(*STORE)
def serve(
    flags: Flags,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(metavar="PORT", help="Port to listen on; 0 takes a free one.")] = None,
    workers: Annotated[int | None, typer.Option(metavar="N", help="Processes that serve together.")] = None,
    tls_cert: Annotated[str | None, typer.Option(metavar="FILE", help="Speak TLS with this certificate (PEM).")] = None,
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Its private key (PEM).")] = None,
) -> None:
    """Run the server until it is stopped with Ctrl-C or SIGTERM."""
    from memorist.bootstrap import run_server

    given = {"host": host, "port": port, "workers": workers, "tls_cert": tls_cert, "tls_key": tls_key}
    loaded = load_settings({**flags.as_settings(), **given})
    tell_warnings(loaded)
    run_server(loaded.settings, as_json=flags.as_json, origins=loaded.origins)


def work() -> None:
    """Serve as one of several processes; what keeps this one from it is told as by a command."""
    from memorist.bootstrap import run_worker

    try:
        run_worker()
    except MemoristError as error:
        sys.exit(report(error, as_json=False))
