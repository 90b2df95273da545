"""`memorist connect`: the servers that commands speak to by a name."""

import getpass
import sys
from dataclasses import replace
from typing import Annotated
from urllib.parse import urlsplit

import typer

from memorist.addresses import without_password
from memorist.errors import Conflict, Invalid, InvalidField, NotFound
from memorist.known_servers import KnownServer
from memorist.platform import validation
from memorist.settings_sources import known_servers, load_settings
from memorist.surfaces.cli.answers import answer, answer_list
from memorist.surfaces.cli.flags import DATABASE, KEY, Flags, with_flags
from memorist.surfaces.cli.speaking import speaking


@with_flags(*DATABASE, KEY)
def connect(
    flags: Flags,
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="Address of the server.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What to call it. Default: its host.")] = None,
    default: Annotated[
        bool, typer.Option("--default", help="Use it where neither a store nor a server is named.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="List what is kept.")] = False,
    remove: Annotated[str | None, typer.Option(metavar="NAME", help="Forget one, and its key.")] = None,
) -> None:
    """Keep the address and the key of a server under a name, for --connection and MEMORIST_CONNECTION.

    The server is asked first whom the key stands for. The key comes from --key, from MEMORIST_API_KEY, or is asked for
    on the terminal; it is kept in connections.json beside the settings file, readable by you alone, and sent nowhere
    else.
    """
    if (url is not None) + list_ + (remove is not None) != 1:
        raise Invalid("Name the address of a server, or --list, or --remove NAME.", field="url")
    if list_:
        _list(flags)
    elif remove is not None:
        _remove(flags, remove)
    elif url is not None:
        _connect(flags, url, name, default=default)


def _connect(flags: Flags, url: str, name: str | None, *, default: bool) -> None:
    if without_password(url) != url:
        raise InvalidField("The address of a server has no password in it: the API key is asked for.", field="url")
    key = load_settings({"url": url, "api_key": flags.key}).settings.api_key
    name = _name_for(url.rstrip("/")) if name is None else validation.identifier("name", name)
    typed = None if key else _typed_key(url)
    with speaking(replace(flags, url=url, key=flags.key or typed)) as memory:
        holder = memory.principal
    known = known_servers()
    servers = {**known.servers, name: KnownServer(url.rstrip("/"), key or typed or "")}
    replace(known, servers=servers, default=name if default else known.default).save()
    whose = {"tenant": holder.tenant, "role": holder.role, "user": holder.user, "agent": holder.agent}
    whom = f"the user {holder.user!r}" if holder.user else "nobody in particular"
    remark = f"Connected: a key of the role {holder.role} for {whom} in the tenant {holder.tenant!r}. "
    use = "Commands use it where no store is named." if default else f"Use it with --connection {name}."
    answer(flags, {"name": name, "url": url.rstrip("/"), **whose, "default": default}, name, remark=remark + use)


def _name_for(url: str) -> str:
    """The host's. Raises Conflict where that is what another server on it is called."""
    name = validation.identifier("name", urlsplit(url).hostname or "")
    known = known_servers().servers.get(name)
    if known is not None and known.url != url:
        raise Conflict(
            f"There is a connection {name!r} to {known.url} already. Give this one another name with --name, or that "
            "name to put it in its place."
        )
    return name


def _typed_key(url: str) -> str:
    if not sys.stdin.isatty():
        raise Invalid(f"The server {url} wants an API key: give it with --key, or in MEMORIST_API_KEY.", field="key")
    return getpass.getpass(f"API key for {url}: ", stream=sys.stderr).strip()


def _list(flags: Flags) -> None:
    known = known_servers()
    records = [
        {"name": name, "url": one.url, "key": f"…{one.api_key[-4:]}", "default": name == known.default}
        for name, one in known.servers.items()
    ]
    empty = "There is no connection yet. `memorist connect URL` makes one."
    answer_list(flags, records, ["name", "url", "key", "default"], whole=["name"], empty=empty)


def _remove(flags: Flags, name: str) -> None:
    known = known_servers()
    if name not in known.servers:
        raise NotFound(f"There is no connection {name[:60]!r}. `memorist connect --list` shows them.")
    servers = {other: one for other, one in known.servers.items() if other != name}
    replace(known, servers=servers, default="" if known.default == name else known.default).save()
    answer(flags, {"name": name, "removed": True}, name, remark="Removed, with its key.")
