"""`memorist dashboard`."""

from typing import Annotated

import typer

from memorist.surfaces.cli.door import opened
from memorist.surfaces.cli.flags import IDENTITY, PLACE, Flags, with_flags
from memorist.surfaces.cli.terminal import note, print_json, print_line


@with_flags(*PLACE, *IDENTITY)
def dashboard(
    flags: Flags,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of the server, where it is not that of the settings.")
    ] = None,
) -> None:
    """Print a link that signs you in to the dashboard once, within 15 minutes. The server must be running."""
    from memorist.core.sign_ins import LINK_LIFETIME

    with opened(flags) as door:
        token = door.core.sign_ins.make_link(door.caller())
        settings = door.settings
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = (url or settings.url or f"http://{host}:{settings.port}").rstrip("/")
    link = f"{address}/dashboard/enter?link={token}"
    if flags.as_json:
        print_json({"url": link, "expires_in_s": int(LINK_LIFETIME.total_seconds())})
        return
    print_line(link)
    note("Open it in a browser within 15 minutes; it works once.")
