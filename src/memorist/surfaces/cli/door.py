"""From flags to an open core and the principal that acts on it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from memorist.addresses import without_password
from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import Forbidden, Invalid, StoreUnavailable
from memorist.platform import access, validation
from memorist.platform.values import Principal, Role
from memorist.settings import LoadedSettings, Settings, load_settings
from memorist.surfaces.cli.flags import Flags
from memorist.surfaces.cli.terminal import note

_SOURCE = "cli"


def settings_of(flags: Flags) -> Settings:
    """The settings with what the flags say; on a terminal it is said which store they mean. Raises InvalidSetting."""
    return _loaded(flags).settings


def _loaded(flags: Flags) -> LoadedSettings:
    loaded = load_settings(flags.as_settings())
    if sys.stderr.isatty() and not flags.as_json:
        settings = loaded.settings
        named = "database" if settings.database else "data"
        origin = {"flag": f"--{named}", "folder": "found from here", "default": "the default"}.get(
            loaded.origins[named], loaded.origins[named]
        )
        note(f"Store: {settings.sqlite_path() or without_password(settings.database_url())} ({origin})")
    return loaded


def operator_settings(flags: Flags) -> Settings:
    """The settings of a command about the database itself. Raises Forbidden where an API key is set."""
    settings = settings_of(flags)
    if settings.api_key:
        raise Forbidden(
            "This command is for the operator of the database, and takes no API key. "
            "Leave out --key, and unset MEMORIST_API_KEY."
        )
    return settings


@contextmanager
def opened(flags: Flags) -> Iterator["Door"]:
    """The core, migrated, for as long as the block runs. Raises StoreError or InvalidSetting."""
    with _opened(settings_of(flags), flags) as door:
        yield door


@contextmanager
def _opened(settings: Settings, flags: Flags) -> Iterator["Door"]:
    core = open_core(settings)
    try:
        yield Door(core, settings, flags)
    finally:
        core.close()


@contextmanager
def reading(flags: Flags) -> Iterator["Door"]:
    """The same for a command that only reads. Where somebody said where the database is, and it is not there, none is
    made: its name was mistyped rather than meant. Raises StoreUnavailable."""
    loaded = _loaded(flags)
    path = loaded.settings.sqlite_path()
    named = [
        name
        for name in ("database", "data")
        if loaded.origins[name] not in ("default", "folder") and getattr(loaded.settings, name)
    ]
    if path is not None and named and not path.exists():
        origin = loaded.origins[named[0]]
        raise StoreUnavailable(
            f"There is no database at {path}. Check {f'--{named[0]}' if origin == 'flag' else origin}; "
            "`memorist db migrate` makes an empty one there, and so does the first thing that is remembered."
        )
    with _opened(loaded.settings, flags) as door:
        yield door


@dataclass(frozen=True, slots=True)
class Door:
    """An open core, and whom this command line acts as."""

    core: Core
    settings: Settings
    flags: Flags

    def caller(self) -> Principal:
        """One user: the holder of the API key (or whom it acts for), else the user of the settings.

        Raises Unauthenticated, Forbidden or InvalidField.
        """
        if self.settings.api_key:
            return access.acting(self.holder(), user=self._named_user(), agent=self._named_agent())
        user = validation.identifier("user", self.settings.user)
        agent = validation.identifier("agent", self.settings.agent) if self.settings.agent else None
        acting = access.acting(self.holder(), user=user, agent=agent)
        # Whoever names nobody is the user of this machine.
        return replace(acting, on_behalf=self.flags.user is not None)

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
            return access.acting(self.holder(), user=self._named_user(), agent=self._named_agent())
        return self.everybody()

    def holder(self) -> Principal:
        """Who holds the API key; without one the operator of the database, who administers every tenant."""
        if not self.settings.api_key:
            return Principal(validation.tenant_name(self.settings.tenant), Role.ADMIN, source=_SOURCE)
        holder = self.core.identity.authenticate(self.settings.api_key, source=_SOURCE)
        if self.flags.tenant not in (None, holder.tenant):
            raise Forbidden("This key belongs to another tenant.")
        return holder

    def make_tenant(self, principal: Principal) -> None:
        """Make sure that the tenant exists before something is written to it."""
        _, is_new = self.core.identity.create_tenant(principal.tenant)
        if is_new:
            note(f"The tenant {principal.tenant} is new.")

    def _named_user(self) -> str | None:
        return None if self.flags.user is None else validation.identifier("user", self.flags.user)

    def _named_agent(self) -> str | None:
        return None if self.flags.agent is None else validation.identifier("agent", self.flags.agent)
