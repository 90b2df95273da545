"""From flags to the verbs of whom the command line acts as: over the database, or on a server.

A server is spoken to where the settings name one. Where they do not, the one that runs here on the same database, by
the same settings, is taken by commands that would load a model otherwise: it has loaded it.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from memorist.addresses import without_password
from memorist.errors import Forbidden, Invalid, MemoristError, Unauthenticated
from memorist.platform import validation
from memorist.platform.values import Principal, Role
from memorist.running_servers import LOCAL_KEY_FILE, running
from memorist.settings import Settings
from memorist.settings_sources import LoadedSettings, load_settings
from memorist.surfaces.cli.door import Whose, opened_database, origin_of, tell_store
from memorist.surfaces.cli.flags import Flags, works_on_a_database
from memorist.verbs import Verbs
from memorist.verbs.here import Handle
from memorist.verbs.kinds import Acting

if TYPE_CHECKING:
    from memorist.core import Core

# So long a server on this machine may take to say that it is there, before the database is opened instead.
_HERE_SECONDS = 2.0
# In JSON at most; what a server would refuse as too large, the database takes.
_BYTES_OF_A_CHARACTER = 6
_BYTES_OF_THE_REST = 4096


@contextmanager
def speaking(
    flags: Flags,
    acting_as: Whose = Whose.CALLER,
    *,
    reads: bool = False,
    models: bool = False,
    size: int = 0,
    session: str | None = None,
) -> Iterator[Verbs]:
    """What the command line can do, for as long as the block runs. `reads`: no database is made; `models`: the command
    would have to load one; `size`: about how many characters it sends.

    Raises StoreError, InvalidSetting, InvalidField, ServerUnavailable or Unauthenticated.
    """
    if session is not None:
        validation.identifier("session", session)
    loaded = load_settings(flags.as_settings())
    if loaded.settings.url:
        tell_store(loaded, flags)
        with _on_server(loaded, flags, acting_as, session) as client:
            yield client
        return
    fits = _BYTES_OF_A_CHARACTER * size + _BYTES_OF_THE_REST <= loaded.settings.body_limit
    if models and fits and acting_as is Whose.CALLER and (found := _running_here(loaded.settings, flags, session)):
        from memorist.client import Client

        tell_store(loaded, flags, through=found["url"])
        with Client(**found) as client:
            yield client
        return
    with opened_database(loaded, flags, reads=reads) as door:
        yield door.verbs(acting_as, session)


def core_here(memory: Verbs) -> "Core | None":
    """The core that the verbs are done with; None where a server does them."""
    return memory._acting.core if isinstance(memory, Handle) else None


def only_here(memory: Verbs, what: str) -> Acting:
    """The core, and who acts on it. Raises Invalid where a server would have to do what no server does."""
    if not isinstance(memory, Handle):
        raise works_on_a_database(f"A server does not know {what}")
    return memory._acting


@contextmanager
def _on_server(loaded: LoadedSettings, flags: Flags, acting_as: Whose, session: str | None) -> Iterator[Verbs]:
    url, key = loaded.settings.url, loaded.settings.api_key
    shown = without_password(url)
    if not key:
        raise Unauthenticated(
            f"The server {shown} wants an API key: --key, MEMORIST_API_KEY, or what `memorist connect {shown}` keeps."
        )
    from memorist.client import Client, Retries  # Whoever opens the database does not pay for them.

    named: dict[str, Any] = {} if acting_as is Whose.HOLDER else {"user": flags.user, "agent": flags.agent}
    # Somebody waits for it.
    named["ca_file"] = loaded.settings.ca_file or None
    opened = Client(url, api_key=key, session=session, retries=Retries(most=2, first=0.2), **named)
    try:
        with opened as client:
            _require_acting(client, flags, acting_as)
            yield client
    except Unauthenticated as error:
        raise Unauthenticated(
            f"The server {shown} does not take the key that ends in {key[-4:]}, from {origin_of(loaded, 'api_key')}: "
            "it is not known there, was revoked, or has expired."
        ) from error


def _require_acting(client: Verbs, flags: Flags, acting_as: Whose) -> None:
    """Raises Forbidden or Invalid where the key cannot act as it is asked to; a server is asked only then."""
    if acting_as is Whose.EVERYBODY and flags.user is not None:
        raise Invalid("Name one user with --user, or ask for all of them; not both.", field="user")
    if acting_as is not Whose.EVERYBODY and flags.tenant is None:
        return
    principal = client.principal
    if flags.tenant not in (None, principal.tenant):
        raise Forbidden("This key belongs to another tenant.")
    if acting_as is Whose.EVERYBODY and (principal.role is not Role.ADMIN or principal.user is not None):
        raise Forbidden(
            "On a server the whole tenant takes an admin key that is bound to no user: "
            "`memorist keys create --role admin` makes one, where the database is."
        )


def _running_here(settings: Settings, flags: Flags, session: str | None) -> dict[str, Any] | None:
    """How to connect to a server of this database that answers the same caller as this process would, if one runs."""
    key = settings.api_key or _local_key(settings)
    addresses = running(settings, alike=True) if key and settings.sqlite_path() else []
    for address in addresses:
        with suppress(MemoristError):
            principal = _principal_at(address, key)
            if settings.api_key and flags.tenant in (None, principal.tenant):
                named = {"user": flags.user, "agent": flags.agent}
            elif not settings.api_key and flags.user is None and _is_operator(principal, settings):
                named = {"user": None, "agent": settings.agent or None}
            else:
                return None
            return {"url": address, "api_key": key, "session": session, **named}
    return None


def _is_operator(principal: Principal, settings: Settings) -> bool:
    """Whether it is whom a command without a key acts as."""
    found = (principal.tenant, principal.role, principal.user, principal.agent)
    return found == (settings.tenant, Role.ADMIN, settings.user, None)


def _local_key(settings: Settings) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return (settings.data / LOCAL_KEY_FILE).read_text("utf-8").strip()
    return ""


def _principal_at(address: str, key: str) -> Principal:
    """Whom a server takes the holder of a key for. Raises ServerUnavailable or Unauthenticated."""
    from memorist.client import Client, Retries

    with Client(address, api_key=key, timeout=_HERE_SECONDS, retries=Retries(most=0)) as client:
        return client.principal
