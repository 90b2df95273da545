"""Starting the server: the first key, the socket, and what to do next."""

import asyncio
import errno
import fcntl
import gc
import json
import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import uvicorn

from memorist.addresses import is_loopback
from memorist.core import Core
from memorist.errors import Conflict, InvalidSetting, StoreError, Unauthenticated
from memorist.platform.identity import is_key, new_secret
from memorist.platform.values import Principal, Role
from memorist.running_servers import LOCAL_KEY_FILE, noted, reached_at, running, version_at
from memorist.settings import Settings
from memorist.surfaces.http.app import create_app
from memorist.surfaces.http.connections import Connections, Limits
from memorist.surfaces.http.logs import set_up_logging
from memorist.surfaces.http.tls import Tls
from memorist.surfaces.http.workers import PatientSocket, Task, run_together, stop_with_parent
from memorist.version import __version__

_GRACE_SECONDS = 30
_TICKS_A_SECOND = 10
_LONGEST_KEY_FILE = 4096
_GREETING_LINK_LIFETIME = timedelta(hours=1)


def serve(
    core: Core,
    settings: Settings,
    listener: socket.socket,
    *,
    as_json: bool = False,
    origins: Mapping[str, str] | None = None,
) -> None:
    """Serve until told to stop, then finish what is in flight and close the core.

    Raises InvalidSetting where the certificate cannot be used, or the address is not loopback while no key exists.
    """
    while_serving = ExitStack()
    try:
        loopback = is_loopback(settings.host)
        if not loopback and not settings.first_key and not core.identity.has_keys():
            raise InvalidSetting(
                f"{settings.host} is reachable from other machines, and no API key exists yet. "
                "Make one first with `memorist keys create --role admin`, or listen on 127.0.0.1.",
                field="host",
            )
        tls = Tls.of(settings)
        key_file = ensure_local_key(core, settings) if loopback or settings.first_key else None
        set_up_logging(settings)
        address = _address(listener, tls)
        # Where others may read the output, it signs nobody in.
        link = f"{address}/dashboard{_link(core, key_file if loopback else None)}"
        while_serving.enter_context(noted(settings, address))
        print((_greeting_json if as_json else _greeting)(address, link, key_file, settings), flush=True)
    except BaseException:
        while_serving.close()
        core.close()
        raise
    told: int | None = None
    with while_serving:
        if settings.workers > 1:
            core.close()  # Each has its own.
            told = run_together(listener, settings, origins)
        else:
            server = Server(configured(core, settings, origins, tls), core, while_serving, tls)
            _keep_for_good()
            server.run(sockets=[listener])
    if told is not None:
        signal.raise_signal(told)


def serve_with_others(core: Core, task: Task) -> None:
    """Serve the socket of several processes until told to stop, and close the core."""
    set_up_logging(task.settings)
    stop_with_parent()
    core.watch.share(task.folder, task.number, core.census.here)
    tls = Tls.of(task.settings)
    # The protocol as in `listen`: not every system can be asked for it.
    shared = PatientSocket(fileno=task.descriptor, proto=socket.IPPROTO_TCP)
    server = Server(configured(core, task.settings, task.origins, tls), core, tls=tls)
    _keep_for_good()
    task.serve()
    server.run(sockets=[shared])


def _keep_for_good() -> None:
    """Let Python no longer look for garbage among what was made so far, which is there until the process ends: all
    requests wait while it looks.
    """
    gc.collect()
    gc.freeze()


def configured(
    core: Core, settings: Settings, origins: Mapping[str, str] | None = None, tls: Tls | None = None
) -> uvicorn.Config:
    """How the server is run: the application over the core, behind connections within limits."""
    return uvicorn.Config(
        create_app(core, settings, origins),
        http=Connections(Limits.of(settings)).protocol(tls),
        # An upgraded connection would be outside of the limits, and no door takes one.
        ws="none",
        # One connection is taken at a time: it makes room for itself before the next takes a descriptor, and where
        # several processes listen, whichever is free takes the next. Another event loop would shorten the queue.
        backlog=1,
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


class Server(uvicorn.Server):
    """Ends the streams of changes before it waits for what is in flight: by themselves they would never end.

    What holds `while_serving` ends before that, because a signal ends the process as soon as the server has stopped.
    """

    def __init__(
        self, config: uvicorn.Config, core: Core, while_serving: ExitStack | None = None, tls: Tls | None = None
    ) -> None:
        super().__init__(config)
        self._tls = tls
        self._core = core
        self._while_serving = while_serving or ExitStack()

    async def on_tick(self, counter: int) -> bool:
        if self._tls is not None and counter % _TICKS_A_SECOND == 0:
            self._tls.renew()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._while_serving.close()
        await asyncio.to_thread(self._core.feed.close)
        await super().shutdown(sockets)


def ensure_local_key(core: Core, settings: Settings) -> Path | None:
    """On the first start make the local tenant, user and key. Returns the file of a key that is valid here, if any.

    A key that lies in the file `first_key` is the first one. Several processes may start at once. Raises
    InvalidSetting where it is no key, or where the file cannot be written; no key is made then.
    """
    path = Path(settings.first_key).expanduser() if settings.first_key else settings.data / LOCAL_KEY_FILE
    if not core.identity.has_keys():
        with _one_at_a_time(path.parent):
            if not core.identity.has_keys():
                return _make_first_key(core, settings, path)
    return path if _is_valid(core, path) else None


def _make_first_key(core: Core, settings: Settings, path: Path) -> Path:
    operator = Principal(settings.tenant, Role.ADMIN, source="first_start")
    given = _given_secret(path) if settings.first_key else None
    secret = given or new_secret()
    if given is None:
        # The file first: a key whose secret was lost would keep later starts from making another.
        _write_secret(path, secret)
    try:
        label = "made on the first start"
        core.identity.create_key(operator, Role.ADMIN, user=settings.user, label=label, secret=secret)
    except BaseException as error:
        if given is not None and isinstance(error, Conflict) and _is_valid(core, path):
            return path  # One on another machine was faster.
        if given is None:
            path.unlink(missing_ok=True)
        raise
    return path


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Let one process of those that start with this folder do this at a time: two would make a key each, and the one
    would write over the other's. Where the folder cannot be locked it is done all the same.
    """
    lock = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:
        pass  # Such as a folder that is not there and cannot be made, of which whoever writes there tells.
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _given_secret(path: Path) -> str | None:
    """The key that lies in the file; None where there is no file. Raises InvalidSetting where it holds none."""
    try:
        with path.open("rb") as file:
            secret = file.read(_LONGEST_KEY_FILE).decode().strip()  # A device may have no end.
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"The first key cannot be read from {path}: {error}.", field="first_key") from error
    if not is_key(secret):
        raise InvalidSetting(f"{path} holds no whole API key, which begins with mst_live_.", field="first_key")
    return secret


def _is_valid(core: Core, path: Path) -> bool:
    """Whether the file holds a key of this database; it may be left from another."""
    try:
        core.identity.authenticate(path.read_text("utf-8").strip())
    except (OSError, UnicodeDecodeError, Unauthenticated):
        return False
    return True


def _link(core: Core, key_file: Path | None) -> str:
    """What signs the reader of the greeting in to the dashboard, where there is a key to stand for. One that cannot be
    written, as on a full disk, keeps nobody from reading what is there.
    """
    if key_file is None:
        return ""
    principal = core.identity.authenticate(key_file.read_text("utf-8").strip(), source="first_start")
    if principal.role is not Role.ADMIN:
        return ""
    try:
        return f"/enter?link={core.sign_ins.make_link(principal, lifetime=_GREETING_LINK_LIFETIME)}"
    except StoreError:
        return ""


def _write_secret(path: Path, secret: str) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        # Made unreadable for others from the start, not afterwards.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secret + "\n")
    except OSError as error:
        raise InvalidSetting(f"The first key cannot be written to {path}: {error.strerror}.", field="data") from error


def listen(settings: Settings) -> socket.socket:
    """The socket that is served. Raises InvalidSetting where the address cannot be used."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is named so that asyncio sends answers at once: otherwise one in parts waits 40 ms for its reader.
    listener = PatientSocket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host.strip("[]"), settings.port))
        # From here on a connection waits instead of being refused, so that the greeting holds when it is read.
        listener.listen()
    except OSError as error:
        listener.close()
        # A name that nobody knows, or an address of another machine, has no port that would do.
        is_elsewhere = isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL
        field = "host" if is_elsewhere else "port"
        why = f"{error.strerror or error}. Choose another with --{field}"
        if error.errno == errno.EADDRINUSE:
            why = _who_listens(settings)
        raise InvalidSetting(f"Cannot listen on {settings.host}:{settings.port}: {why}.", field=field) from error
    return listener


def _who_listens(settings: Settings) -> str:
    """Why the port is taken, and what to do: is it a server of these memories, of others, or something else?"""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = reached_at(f"http://{host}:{settings.port}")
    version = version_at(address) or version_at(address.replace("http:", "https:"))
    if not version:
        who = "not a Memorist" if version is None else "or a Memorist that is still starting"
        return (
            f"another program has the port, {who}. Choose another with --port, or see which it is: "
            f"`ss -ltnp sport = :{settings.port}`"
        )
    is_same = any(one.rpartition(":")[2] == str(settings.port) for one in running(settings))
    if is_same:
        return (
            f"Memorist {version} already serves these memories there. Use it at {address}, or stop it to start this "
            f"one (version {__version__})"
        )
    return f"Memorist {version} serves other memories there. Choose another port with --port, or stop that one"


def _address(listener: socket.socket, tls: Tls | None) -> str:
    host, port = listener.getsockname()[:2]
    return f"{'http' if tls is None else 'https'}://{f'[{host}]' if ':' in host else host}:{port}"


def _greeting_json(address: str, link: str, key_file: Path | None, settings: Settings) -> str:  # noqa: ARG001
    return json.dumps({"url": address, "dashboard": link, "key_file": str(key_file) if key_file else None})


def _greeting(address: str, link: str, key_file: Path | None, settings: Settings) -> str:
    key = f"$(cat {key_file})" if key_file else "<your key>"
    database = settings.sqlite_path() or "PostgreSQL"
    return (
        f"Memorist is serving on {address}\n"
        f"  memories   {database}\n"
        f"  key        {key_file or 'memorist keys create --role user --user NAME'}\n"
        f"  reference  {address}/docs\n"
        f"  dashboard  {link}\n\n"
        "Remember something:\n"
        f'  curl {address}/v1/memories -H "Authorization: Bearer {key}" -H "Content-Type: application/json" \\\n'
        '    -d \'{"type": "user", "name": "user_profile", "description": "Who I am", "body": "I work in UTC+2."}\'\n\n'
        "Stop with Ctrl-C."
    )
