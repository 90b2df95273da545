"""A store to try things in, of which nothing stays: a temporary folder, or a tenant of its own in a given database."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.settings_sources import load_settings
from memorist.surfaces.cli.door import operator_settings
from memorist.surfaces.cli.flags import Flags
from memorist.surfaces.cli.outputs import ended_in_order
from memorist.times import Clock

TENANT = "memorist-scratch"


@dataclass(frozen=True, slots=True)
class Scratch:
    """An open core and the tenant to use. Users are named with the prefix, so that two runs never meet."""

    core: Core
    settings: Settings
    tenant: str
    prefix: str


@contextmanager
def scratch(flags: Flags, *, clock: Clock | None = None) -> Iterator[Scratch]:
    """Without --data and --database everything is in a temporary folder, whatever database the settings name.

    In a given database the rows are erased afterwards; what remains is the name of the tenant, and receipts.
    """
    with ended_in_order(), TemporaryDirectory(prefix="memorist-", ignore_cleanup_errors=True) as folder:
        elsewhere = flags.data is None and flags.database is None
        settings = _temporary_settings(folder) if elsewhere else operator_settings(flags)
        core = open_core(settings, clock=clock)
        prefix = f"scratch-{secrets.token_hex(4)}"
        try:
            core.identity.create_tenant(TENANT)
            try:
                yield Scratch(core, settings, TENANT, prefix)
            finally:
                if not elsewhere:
                    _erase(core, prefix)
        finally:
            core.close()


def _temporary_settings(folder: str) -> Settings:
    return load_settings({"data": folder, "database": "", "api_key": ""}).settings


def _erase(core: Core, prefix: str) -> None:
    for user in core.erasure.users(Principal(TENANT, Role.ADMIN)):
        if user.startswith(prefix):
            core.erasure.reset(Principal(TENANT, Role.ADMIN, user))
