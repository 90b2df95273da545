"""From flags to an open core and the principal that acts on it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from memorist.addresses import without_password
from memorist.errors import Forbidden, Invalid, StoreUnavailable, Unauthenticated
from memorist.platform import access, acts, validation
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.settings_sources import LoadedSettings, load_settings
from memorist.surfaces.cli.flags import COMMAND, Flags, works_on_a_database
from memorist.surfaces.cli.terminal import note
from memorist.verbs.here import Handle

if TYPE_CHECKING:
    from memorist.core import Core

_SOURCE = "cli"


class Whose(Enum):
    """As whom a command acts."""

    CALLER = auto()
    """One user: the holder of the API key, or whom it acts for."""
    EVERYBODY = auto()
    """The whole tenant, which takes an admin."""
    BACKUP = auto()
    """Whom the key or the flags name, and otherwise the whole tenant."""
    HOLDER = auto()
    """Who holds the key, whomever the flags name."""


def whose(all_users: bool) -> Whose:
    """What --all-users means."""
    return Whose.EVERYBODY if all_users else Whose.CALLER


def settings_of(flags: Flags) -> Settings:
    """The settings with what the flags say; on a terminal it is said where the memories are. Raises InvalidSetting."""
    loaded = load_settings(flags.as_settings())
    tell_store(loaded, flags)
    return loaded.settings


def tell_store(loaded: LoadedSettings, flags: Flags, through: str = "") -> None:
    """On a terminal, say which store or server is used and who named it, and what of the environment is no setting;
    `through`: the server that has the store.
    """
    if not sys.stderr.isatty() or flags.as_json:
        return
    tell_warnings(loaded)
    settings = loaded.settings
    if settings.url:
        note(f"Server: {without_password(settings.url)} ({origin_of(loaded, 'url')})")
        return
    store = settings.sqlite_path() or without_password(settings.database_url())
    origin = origin_of(loaded, "database" if settings.database else "data")
    note(f"Store: {store} ({origin}{f'; through its server at {through}' if through else ''})")


def tell_warnings(loaded: LoadedSettings) -> None:
    for warning in loaded.warnings:
        note(f"warning: {warning}")


def origin_of(loaded: LoadedSettings, name: str) -> str:
    """Where a setting came from, in words."""
    origin = loaded.origins[name]
    flag = "--key" if name == "api_key" else f"--{name}"
    return {"flag": flag, "folder": "found from here", "default": "the default"}.get(origin, origin)


def operator_settings(flags: Flags) -> Settings:
    """The settings of a command about the database itself. Raises Forbidden where an API key is set."""
    loaded = load_settings(flags.as_settings())
    require_database(loaded)
    tell_store(loaded, flags)
    if loaded.settings.api_key:
        raise Forbidden(
            "This command is for the operator of the database, and takes no API key. "
            "Leave out --key, and unset MEMORIST_API_KEY."
        )
    return loaded.settings


@contextmanager
def opened(flags: Flags) -> Iterator["Door"]:
    """The core, migrated, for as long as the block runs. Raises StoreError, InvalidSetting, or Invalid where a server
    is named.
    """
    loaded = load_settings(flags.as_settings())
    require_database(loaded)
    with opened_database(loaded, flags) as door:
        yield door


@contextmanager
def reading(flags: Flags) -> Iterator["Door"]:
    """The same for a command that only reads: see `opened_database`."""
    loaded = load_settings(flags.as_settings())
    require_database(loaded)
    with opened_database(loaded, flags, reads=True) as door:
        yield door


@contextmanager
def opened_database(loaded: LoadedSettings, flags: Flags, *, reads: bool = False) -> Iterator["Door"]:
    """The core of those settings. Where a command only `reads`, and somebody said where the database is, and it is not
    there, none is made: its name was mistyped rather than meant. Raises StoreError.
    """
    if reads:
        _require_there(loaded)
    tell_store(loaded, flags)
    from memorist.bootstrap import open_core  # Whoever speaks to a server does not pay for a database.

    core = open_core(loaded.settings, is_brief=True)
    try:
        with core.audit.acting("cli", COMMAND.get()):
            yield Door(core, loaded.settings, flags)
    finally:
        core.close()


def require_database(loaded: LoadedSettings) -> None:
    """Raises Invalid where a server is named instead."""
    if loaded.settings.url:
        raise works_on_a_database(
            f"{origin_of(loaded, 'url')} names the server {without_password(loaded.settings.url)}"
        )


def _require_there(loaded: LoadedSettings) -> None:
    path = loaded.settings.sqlite_path()
    named = [
        name
        for name in ("database", "data")
        if loaded.origins[name] not in ("default", "folder") and getattr(loaded.settings, name)
    ]
    if path is not None and named and not path.exists():
        raise StoreUnavailable(
            f"There is no database at {path}. Check {origin_of(loaded, named[0])}; "
            "`memorist db migrate` makes an empty one there, and so does the first thing that is remembered."
        )


@dataclass(frozen=True, slots=True)
class Door:
    """An open core, and whom this command line acts as."""

    core: "Core"
    settings: Settings
    flags: Flags

    def verbs(self, acting_as: Whose, session: str | None = None) -> Handle:
        """What the command line can do as one of those, in a session. Nothing is refused before the first verb."""
        who = {
            Whose.CALLER: self.caller,
            Whose.EVERYBODY: self.everybody,
            Whose.BACKUP: self.backup,
            Whose.HOLDER: self.holder,
        }[acting_as]
        return Handle(self.core, lambda: access.acting(who(), session=session), _tell_new_tenant)

    def caller(self) -> Principal:
        """One user: the holder of the API key (or whom it acts for), else the user of the settings.

        Raises Unauthenticated, Forbidden or InvalidField.
        """
        if self.settings.api_key:
            return acts.by(access.acting(self.holder(), user=self._named_user(), agent=self._named_agent()))
        user = validation.identifier("user", self.settings.user)
        agent = validation.identifier("agent", self.settings.agent) if self.settings.agent else None
        acting = access.acting(self.holder(), user=user, agent=agent)
        # Whoever names nobody is the user of this machine.
        return acts.by(replace(acting, on_behalf=self.flags.user is not None))

    def everybody(self) -> Principal:
        """The whole tenant, which takes an admin. Raises Unauthenticated, Forbidden or Invalid."""
        if self.flags.user is not None:
            raise Invalid("Name one user with --user, or ask for all of them; not both.", field="user")
        holder = self.holder()
        access.require(holder, access.Action.ADMINISTER)
        return Principal(holder.tenant, holder.role, agent=self._named_agent(), key_id=holder.key_id, source=_SOURCE)

    def backup(self) -> Principal:
        """For export and import: whom the API key or the flags name, and otherwise the whole tenant."""
        if self.settings.api_key or self.flags.user is not None:
            return acts.by(access.acting(self.holder(), user=self._named_user(), agent=self._named_agent()))
        return self.everybody()

    def holder(self) -> Principal:
        """Who holds the API key; without one the operator of the database, who administers every tenant."""
        if not self.settings.api_key:
            return acts.by(Principal(validation.tenant_name(self.settings.tenant), Role.ADMIN, source=_SOURCE))
        try:
            holder = self.core.identity.authenticate(self.settings.api_key, source=_SOURCE)
        except Unauthenticated as error:
            raise Unauthenticated(
                "The API key of --key or MEMORIST_API_KEY is not taken: it is none, is not known here, was revoked, or "
                "has expired."
            ) from error
        if self.flags.tenant not in (None, holder.tenant):
            raise Forbidden("This key belongs to another tenant.")
        return acts.by(holder)

    def make_tenant(self, principal: Principal) -> None:
        """Make sure that the tenant exists before something is written to it."""
        _, is_new = self.core.identity.create_tenant(principal.tenant)
        if is_new:
            _tell_new_tenant(principal.tenant)

    def _named_user(self) -> str | None:
        return None if self.flags.user is None else validation.identifier("user", self.flags.user)

    def _named_agent(self) -> str | None:
        return None if self.flags.agent is None else validation.identifier("agent", self.flags.agent)


def _tell_new_tenant(name: str) -> None:
    note(f"The tenant {name} is new.")
