"""Several processes that serve together: they share the socket, and one that dies is started again.

The first of them also does what needs doing once: rounds over all tenants, sweeps, backups. To answer, none needs
another.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from memorist.secrets.logs import redacting_logger
from memorist.settings import Settings

_log = redacting_logger("memorist.workers")

_BACKLOG = 2048
_GRACE_S = 45.0
"""Each finishes what is in flight within 30 seconds, turns within 5 more, and then writes what is left."""
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 30.0
_MOST_DOUBLINGS = 10
_HEALTHY_AFTER_S = 30.0
_RUN = "from memorist.surfaces.cli.serve import work; work()"
_READY = "ready"


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is told."""

    settings: Settings
    origins: Mapping[str, str]
    descriptor: int
    """Of the socket."""
    folder: Path
    """Where they meet."""
    number: int = 0

    @classmethod
    def read(cls) -> "Task":
        """The one that comes with the first line on stdin."""
        with open(0, "rb", buffering=0, closefd=False) as told:
            values = json.loads(told.readline())
        settings = values.pop("settings")
        settings = Settings(**{**settings, "data": Path(settings["data"])})
        return cls(settings, **{**values, "folder": Path(values["folder"])})

    @property
    def is_served(self) -> bool:
        """Whether one of them ever served."""
        return (self.folder / _READY).exists()

    def serve(self) -> None:
        """Note that one of them does."""
        (self.folder / _READY).touch()

    def line(self, number: int) -> bytes:
        return json.dumps({**asdict(self), "number": number}, default=str).encode() + b"\n"


class PatientSocket(socket.socket):
    """Keeps its queue long, though who takes one connection at a time asks for a short one."""

    def listen(self, backlog: int = _BACKLOG, /) -> None:  # noqa: ARG002
        super().listen(_BACKLOG)


def stop_with_parent() -> None:
    """End in good order where the process that started this one is gone, however it ended."""

    def wait() -> None:
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="memorist-parent", daemon=True).start()


class _Worker:
    """One place among them: the process that has it, and what became of those before."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.process: subprocess.Popen[bytes] | None = None
        self.code = 0
        """With what the last one ended."""
        self._began = self._not_before = float("-inf")
        self._failures = 0

    def see_to(self, task: Task) -> float | None:
        """Start it where it does not run. Returns the seconds until that may be done, where it must wait."""
        if self.process is not None and self.process.poll() is not None:
            self._note_end(self.process.returncode)
        now = time.monotonic()
        if self.process is None and now >= self._not_before:
            self._began = now
            try:
                self.process = _start(task, self.number)
            except OSError as error:  # Such as no memory for one more: the others serve on.
                self._put_off()
                _log.warning("worker %d cannot be started now: %s", self.number, error)
        return self._not_before - now if self.process is None else None

    def _note_end(self, code: int) -> None:
        self.code = code
        self._put_off()
        _log.warning("worker %d ended (%d) and is started again", self.number, code)
        self._close()

    def _put_off(self) -> None:
        """Let the next wait, longer each time, unless the last one was well for a while."""
        now = time.monotonic()
        self._failures = 0 if now - self._began > _HEALTHY_AFTER_S else min(self._failures + 1, _MOST_DOUBLINGS)
        wait = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**self._failures) if self._failures else 0.0
        self._not_before = now + wait

    def stop(self, until: float) -> None:
        """Wait for its end; one that was told to and takes longer is killed."""
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            _log.warning("worker %d did not end in time", self.number)
            self.process.kill()
            self.process.wait()
        self._close()

    def _close(self) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        self.process = None


def run_together(listener: socket.socket, settings: Settings, origins: Mapping[str, str] | None) -> int | None:
    """Serve with as many processes as the settings say, until told to stop; then finish what is in flight. Returns the
    signal that told so, which the caller is to raise again: a shell expects that of a program that a signal ended.

    Raises SystemExit, with the code of the last, where each has ended by itself and none ever served: they said why.
    """
    workers = [_Worker(number) for number in range(settings.workers)]
    with TemporaryDirectory(prefix="memorist-") as folder, _Signals() as signals:
        task = Task(settings, origins or {}, listener.fileno(), Path(folder))
        try:
            while signals.stop is None:
                waits = [wait for worker in workers if (wait := worker.see_to(task)) is not None]
                if all(worker.code > 0 for worker in workers) and not task.is_served:
                    raise SystemExit(workers[-1].code)
                signals.wait(min(waits, default=None))
        finally:
            for worker in workers:
                if worker.process is not None:
                    worker.process.terminate()
            until = time.monotonic() + _GRACE_S
            for worker in workers:
                worker.stop(until)
            listener.close()
    return signals.stop


def _start(task: Task, number: int) -> subprocess.Popen[bytes]:
    # In a session of its own: Ctrl-C is for this process, which tells the others.
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN],
        stdin=subprocess.PIPE,
        pass_fds=[task.descriptor],
        start_new_session=True,
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(task.line(number))
        process.stdin.flush()
    return process


class _Signals:
    """What this process is told while it waits. Nothing is lost between two waits."""

    def __init__(self) -> None:
        self.stop: int | None = None
        """The signal that ends it."""
        self._before: dict[int, Any] = {}

    def wait(self, seconds: float | None) -> None:
        """Until there was a signal, or the time is over."""
        if select.select([self._told], [], [], seconds)[0]:
            self._told.recv(4096)

    def __enter__(self) -> "_Signals":
        self._told, self._teller = socket.socketpair()
        self._teller.setblocking(False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            self._before[number] = signal.signal(number, self._note)
        self._waking = signal.set_wakeup_fd(self._teller.fileno(), warn_on_full_buffer=False)
        return self

    def _note(self, number: int, _: FrameType | None) -> None:
        if number != signal.SIGCHLD and self.stop is None:
            self.stop = number

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._waking)
        for number, before in self._before.items():
            signal.signal(number, before)
        self._told.close()
        self._teller.close()
