"""`memorist top`."""

import sys
import time
from contextlib import nullcontext
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memorist.errors import Forbidden, ServerUnavailable, Unauthenticated
from memorist.running_servers import running
from memorist.settings import Settings
from memorist.settings_sources import load_settings
from memorist.surfaces.cli.flags import ANYWHERE, KEY, Flags, with_flags
from memorist.surfaces.cli.terminal import print_json, print_rendered

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memorist.observing.reading import Look

_TIMEOUT_S = 10.0


@with_flags(*ANYWHERE, KEY)
def top(
    flags: Flags,
    every: Annotated[
        float, typer.Option(metavar="SECONDS", help="How often to look: from 0.1 to 3600.", min=0.1, max=3600)
    ] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Print one view, of all the time since it started.")] = False,
) -> None:
    """Show what a running server does: its requests, how long recalls take, jobs, and how far the index is.

    Without --url and --connection it is the one that runs here. Its /metrics is read every few seconds until Ctrl-C,
    and what happened in between is shown. Where there is no terminal one view is printed, as with --once; with --json
    one JSON document a view.
    """
    from memorist.observing.reading import Between, view

    settings = load_settings(flags.as_settings()).settings
    address = (settings.url or _running(settings)).rstrip("/")
    look = _look(address, settings)
    shown = {"url": address, **view(Between(look.before_it_began(), look))}
    if flags.as_json:
        print_json(shown)
    if once or not (flags.as_json or sys.stdout.isatty()):
        if not flags.as_json:
            print_rendered(_drawn(shown))
        return
    _follow(address, settings, look, shown, every, as_json=flags.as_json)


def _follow(
    address: str, settings: Settings, look: "Look", shown: dict[str, Any], every: float, *, as_json: bool
) -> None:
    """Look again and again, until Ctrl-C."""
    from rich.live import Live

    from memorist.observing.reading import Between, view

    never = Event()
    with nullcontext() if as_json else Live(_drawn(shown), screen=True, auto_refresh=False) as live:
        while not never.wait(every):
            before, look = look, _look(address, settings)
            shown = {"url": address, **view(Between(before, look))}
            if live is None:
                print_json(shown)
                sys.stdout.flush()
            else:
                live.update(_drawn(shown), refresh=True)


def _running(settings: Settings) -> str:
    """The server of these memories on this machine, the last started first. Raises ServerUnavailable."""
    for address in running(settings):
        return address
    raise ServerUnavailable(
        "No server of these memories is known to run on this machine. Start one with `memorist serve`, "
        "or name the address of one with --url."
    )


def _look(address: str, settings: Settings) -> "Look":
    """Raises ServerUnavailable, Unauthenticated or Forbidden."""
    import httpx2

    from memorist.caller_headers import caller_headers
    from memorist.observing.reading import Look
    from memorist.trust import trusting

    verify = trusting(settings.ca_file) if settings.ca_file else True
    headers = caller_headers(settings.api_key)
    try:
        answer = httpx2.get(f"{address}/metrics", headers=headers, timeout=_TIMEOUT_S, verify=verify)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ServerUnavailable(f"{address} does not answer: {error or type(error).__name__}.") from error
    if answer.status_code == 401:
        raise Unauthenticated(f"{address}/metrics needs an admin's key: name one with --key or MEMORIST_API_KEY.")
    if answer.status_code == 403:
        raise Forbidden(f"{address}/metrics needs the key of an admin, and this is none.")
    if answer.status_code != 200:
        raise ServerUnavailable(f"{address}/metrics answered {answer.status_code}. Is it a Memorist that counts?")
    try:
        return Look.of(answer.text, time.time())
    except ValueError as error:
        raise ServerUnavailable(f"What {address}/metrics answers is not the text of Prometheus.") from error


_Row = tuple[list[str], dict[str, Any], list[str]]
"""What a row begins with, the times in it, and what it ends with."""
_TIMES = ("per_second", "p50_ms", "p95_ms", "p99_ms")


def _drawn(shown: dict[str, Any]) -> "RenderableType":
    from rich.console import Group

    recall, turns, store = shown["recall"], shown["turns"], shown["store"]
    jobs = ", ".join(f"{count} {state}" for state, count in shown["jobs"].items())
    facts = {
        "server": f"{shown['url']}, Memorist {shown['version']}, over {shown['seconds']:.0f} s",
        "requests": f"{shown['requests']['per_second']:g} a second, {shown['requests']['in_progress']} in progress",
        "index": f"{shown['index']['waiting']} waiting, {shown['index']['lag_s']:g} s behind",
        "jobs": jobs,
        "turns": f"{turns['running']} running, {turns['per_second']:g} a second, ${turns['cost_usd']:g}",
        "store": f"{store['memories']:,} memories, {store['bytes'] / 1e6:,.1f} MB, {store['queue']} waiting",
    }
    routes: list[_Row] = [
        ([one["method"], one["route"]], one, [str(one["failed"])]) for one in shown["requests"]["routes"]
    ]
    stages: list[_Row] = [
        (["recall"], recall, []),
        *(([f"  {name}"], one, []) for name, one in recall["stages"].items()),
    ]
    models: list[_Row] = [([name], one, [str(one["failures"])]) for name, one in shown["models"].items()]
    return Group(
        _facts(facts),
        _times(["method", "route"], routes, ["failed"]),
        _times(["recall"], stages, []),
        _times(["model"], models, ["failed"]),
    )


def _facts(facts: dict[str, str]) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        grid.add_row(Text(name, style="bold"), Text(value))
    return grid


def _times(names: list[str], rows: list[_Row], more: list[str]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in names:
        table.add_column(name, no_wrap=True)
    for name in ("a second", "p50 ms", "p95 ms", "p99 ms", *more):
        table.add_column(name, justify="right")
    for first, times, last in rows:
        numbers = ["–" if times[name] is None else f"{times[name]:,.3g}" for name in _TIMES]
        table.add_row(*(Text(cell) for cell in (*first, *numbers, *last)))
    return table
