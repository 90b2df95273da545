"""The options that commands share, declared once, and how a command is registered.

A command is a function whose first parameter is `Flags`; `with_flags` replaces that parameter by the shared options:

    @with_flags(*ANYWHERE, *IDENTITY)
    def show(flags: Flags, memory_id: ...) -> None: ...
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from memorist.errors import Invalid
from memorist.surfaces.cli.plain_values import PlainCommand, PlainGroup

COMMAND: ContextVar[str] = ContextVar("command", default="memorist")
"""The command that runs, without its arguments."""


@dataclass(frozen=True, slots=True)
class Flags:
    """What the shared options said; None where an option was not given or the command does not take it."""

    data: str | None = None
    database: str | None = None
    url: str | None = None
    connection: str | None = None
    as_json: bool = False
    tenant: str | None = None
    key: str | None = None
    user: str | None = None
    agent: str | None = None

    def as_settings(self) -> dict[str, str | None]:
        """The flags under the names of the settings that they override."""
        here = self.data is not None or self.database is not None
        return {
            "data": self.data,
            "database": self.database,
            "url": "" if here and self.url is None else self.url,
            "connection": self.connection,
            "tenant": self.tenant,
            "api_key": self.key,
            "user": self.user,
            "agent": self.agent,
        }


def _option(name: str, flag: str, help: str, *, metavar: str, hidden: bool = False) -> inspect.Parameter:
    annotation = Annotated[str | None, typer.Option(flag, metavar=metavar, help=help, hidden=hidden)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


_KEY_HELP = "Act with this API key, instead of as the operator of the database."


def _server_options(*, hidden: bool = False) -> tuple[inspect.Parameter, ...]:
    url = _option("url", "--url", "Address of a server, instead of a database.", metavar="URL", hidden=hidden)
    name = "A server that `memorist connect` keeps."
    return url, _option("connection", "--connection", name, metavar="NAME", hidden=hidden)


_DATABASE = (
    _option("data", "--data", "Folder of the embedded database.", metavar="DIR"),
    _option("database", "--database", "A postgresql:// URL or an SQLite file.", metavar="URL"),
)
_AS_JSON = inspect.Parameter(
    "as_json",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--json", help="Print one JSON document.")],
)
_REFUSED_SERVER = _server_options(hidden=True)

# Where the memories are and how to answer: every command takes these.
ANYWHERE = (*_DATABASE, *_server_options(), _AS_JSON)
# For what is done to a database; those who name a server are told so.
STORE = (*_DATABASE, *_REFUSED_SERVER, _AS_JSON)
# For those that have a --url of their own.
DATABASE = (*_DATABASE, _AS_JSON)
# Which tenant, and by what right.
KEY = _option("key", "--key", _KEY_HELP, metavar="KEY")
TENANT = _option("tenant", "--tenant", "Tenant to act in.", metavar="NAME")
CREDENTIAL = (TENANT, KEY)
# On whose behalf.
IDENTITY = (
    *CREDENTIAL,
    _option("user", "--user", "User to act as.", metavar="NAME"),
    _option("agent", "--agent", "Agent (profile) to act as.", metavar="NAME"),
)
Limit = Annotated[int, typer.Option(metavar="N", help="Most on one page, 1 to 100.")]
Cursor = Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on where a page ended.")]
AllUsers = Annotated[bool, typer.Option("--all-users", help="Look at the whole tenant (operator and admin keys).")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
IdempotencyKey = Annotated[
    str | None, typer.Option(metavar="KEY", help="Repeating the command with the same key has no further effect.")
]

# Commands of the operator know the option only to refuse it with a clear answer.
REFUSED_KEY = (_option("key", "--key", _KEY_HELP, metavar="KEY", hidden=True),)


def works_on_a_database(but: str) -> Invalid:
    """What is said to those who ask a server for what is done to a database alone."""
    return Invalid(
        f"{but}, and this is done to a database: run it where that is, with --data or --database.", field="url"
    )


def with_flags(*options: inspect.Parameter) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the shared options; it receives them as one `Flags`."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        _, *own = inspect.signature(function, eval_str=True).parameters.values()

        @functools.wraps(function)
        def command(**arguments: Any) -> None:
            flags = Flags(**{option.name: arguments.pop(option.name) for option in options})
            for option in _REFUSED_SERVER:
                if option in options and getattr(flags, option.name) is not None:
                    raise works_on_a_database(f"--{option.name} names a server")
            function(flags, **arguments)

        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        command.__signature__ = inspect.Signature([*parameters, *options])  # type: ignore[attr-defined]
        return command

    return decorate


def new_group(commands: Mapping[str, Callable[..., None]] | None = None) -> typer.Typer:
    """An application of some commands. Its help is plain text, like that of `memorist --help`."""
    group = typer.Typer(
        cls=PlainGroup,
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, function in (commands or {}).items():
        register(group, name, function)
    return group


def register(group: typer.Typer, name: str, function: Callable[..., None], summary: str | None = None) -> None:
    """Add a command to a group; `summary` is its line in the group's help, its docstring the help of its own."""
    group.command(name, cls=PlainCommand, short_help=summary)(function)
