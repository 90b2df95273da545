"""`memorist dashboard`."""

from typing import Annotated

import typer

from memorist.errors import ServerUnavailable
from memorist.running_servers import running
from memorist.settings import Settings
from memorist.settings_sources import load_settings
from memorist.surfaces.cli.door import opened_database, require_database
from memorist.surfaces.cli.flags import DATABASE, IDENTITY, Flags, with_flags
from memorist.surfaces.cli.terminal import note, print_json, print_line


@with_flags(*DATABASE, *IDENTITY)
def dashboard(
    flags: Flags,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of the server, where others reach it by another.")
    ] = None,
) -> None:
    """Print a link that signs you in to the dashboard once, within 15 minutes. The server must be running."""
    from memorist.platform.sign_ins import LINK_LIFETIME

    loaded = load_settings(flags.as_settings())
    if loaded.origins["url"].startswith("connection "):
        # Its key is of the database there, and not of the one here.
        require_database(loaded)
    # The link is made in the database, whichever server it is for.
    with opened_database(loaded, flags, reads=True) as door:  # No server has a database that is not there.
        caller = door.caller()
        named = url or door.settings.url
        address, *others = [named] if named else _running(door.settings)
        link = f"{address.rstrip('/')}/dashboard/enter?link={door.core.sign_ins.make_link(caller)}"
    if flags.as_json:
        print_json({"url": link, "expires_in_s": int(LINK_LIFETIME.total_seconds())})
        return
    print_line(link)
    note("Open it in a browser within 15 minutes; it works once.")
    if others:
        note(f"Other servers of these memories run here too: {', '.join(others)}. Choose one with --url.")


def _running(settings: Settings) -> list[str]:
    """The servers that run here; that of the settings first, else the last started. Raises ServerUnavailable.

    Never an address where nobody is known to listen: whoever does by then would be handed the link.
    """
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    found = sorted(running(settings), key=f"{'https' if settings.tls_cert else 'http'}://{host}:{settings.port}".__ne__)
    if not found:
        raise ServerUnavailable(
            "No server of these memories is known to run on this machine. Start one with `memorist serve`, "
            "or name the address of one with --url."
        )
    return found
