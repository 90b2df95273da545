"""Hooks of Claude Code: a session starts with what is remembered, and what is said in it is kept.

A hook must be quick and must never be in the way: it notes what there is to do, leaves the work to a process of its own
and answers, always with success. What goes wrong is written to `hook.log`, told in one line of the answer, of this hook
or of the next, and done at the next occasion, because how much of a transcript was stored is noted only after it was.

The imports below are all that a hook needs; what works on the store is imported by the process that does the work.
"""

import contextlib
import fcntl
import json
import os
import re
import select
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorist.settings import Settings
from memorist.settings_sources import load_settings

if TYPE_CHECKING:
    from memorist.platform.values import Principal

HOST = "claude-code"
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")
# The events at which a session can be told something.
_TOLD_AT = ("SessionStart", "UserPromptSubmit")

_FLAGS = ("--data", "--database", "--tenant", "--user", "--agent")
# By which `memorist install` knows its hooks again. Those of another name may act for another user.
_NAME = "--name"
_USUAL_NAME = "memorist"
_LARGEST_INPUT = 16_000_000
_LONGEST_FAULT = 300
_LARGEST_LOG = 1_000_000
# Below what a server takes at once by default, with room for how JSON spells it.
_SLICE = 400_000
_SAFE_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
# A transcript that nobody has touched for so long belongs to a session that ended without saying so.
_ABANDONED_AFTER_S = 3600.0
_FORGET_AFTER_S = 60 * 86_400.0
_ANSWER_TIMEOUT_S = 60.0
_TOO_LARGE = 413


def main(arguments: Sequence[str]) -> int:
    """Answer a hook: `claude-code EVENT [FLAGS]`. Nothing is raised, and the exit code is 0 whatever happens."""
    started = _process_start()
    # Where faults are written until the settings say.
    folder = Path(os.environ.get("MEMORIST_DATA") or "~/.local/share/memorist").expanduser() / HOST
    try:
        host, event, flags, name = _parse(arguments)
        settings = load_settings(flags).settings
        folder = settings.data / HOST
        if host != HOST or event not in EVENTS:
            raise ValueError(f"There is no hook {host} {event}.")
        _answer(event, settings, flags, name, started)
    except Exception as error:  # noqa: BLE001 - A hook never fails.
        log_fault(folder, error)
        with contextlib.suppress(OSError):
            _print_answer("", "", _told(error))
    return 0


def _process_start() -> float:
    """When this process began, by the monotonic clock, where the system tells; otherwise now."""
    now = time.monotonic()
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return now
    return now - age if 0 <= age < 60 else now


def _parse(arguments: Sequence[str]) -> tuple[str, str, dict[str, str], str]:
    names: list[str] = []
    installed_as = _USUAL_NAME
    flags: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument in _FLAGS:
            flags[argument.removeprefix("--")] = next(rest)
        elif argument == _NAME:
            installed_as = next(rest)
        else:
            names.append(argument)
    if len(names) != 2:
        raise ValueError(f"A hook takes a host and an event, not {len(names)} arguments.")
    if "data" in flags or "database" in flags:
        # Whoever names a database means that one, not another from the environment.
        flags = {"url": "", "database": "", **flags}
    return names[0], names[1], flags, installed_as


def _answer(event: str, settings: Settings, flags: Mapping[str, str], installed_as: str, started: float) -> None:
    told = json.loads(sys.stdin.buffer.read(_LARGEST_INPUT))
    if not isinstance(told, dict):
        raise TypeError("The hook's input is no JSON object.")
    worker = Worker(settings, flags, session_name(str(told.get("session_id") or "")), _project(told), installed_as)
    transcript = told.get("transcript_path")
    if isinstance(transcript, str) and transcript:
        worker.note(Path(transcript).expanduser().absolute())
    if event == "SessionStart":
        ready = _in_background(worker, worker.start)
        _wait_for_end(ready, started + settings.hook_wait_ms / 1000)
    context, fault = worker.take(".context"), worker.take(".fault")
    _print_answer(event, context if event in _TOLD_AT else "", fault)
    if event == "SessionEnd":
        _in_background(worker, worker.finish)
    elif event != "SessionStart" and worker.has_news():
        _in_background(worker, worker.keep)


def _project(told: Mapping[str, Any]) -> str | None:
    project = os.environ.get("CLAUDE_PROJECT_DIR") or told.get("cwd")
    return project if isinstance(project, str) else None


def _print_answer(event: str, context: str, fault: str) -> None:
    """What the session is told, and what went wrong since it was told last, in one line."""
    answer: dict[str, Any] = {"systemMessage": fault} if fault else {}
    if context:
        answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
    if answer:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _told(error: BaseException) -> str:
    """A fault in one line, for whoever sits before the assistant."""
    from memorist.secrets import redact

    said = " ".join(redact(str(error)).text.split())[:_LONGEST_FAULT] or type(error).__name__
    return f"Memorist: a hook failed: {said} (more is in hook.log, in its data folder)"


class Worker:
    """What is done for one session, and the notes about it in the data folder, apart for each name of an install.

    `NAME.json` says where its transcript is, `NAME.offset` how many of its bytes are stored, `NAME.context` is what it
    starts with and `NAME.fault` what went wrong, each until that was shown, and `NAME.lock` keeps two processes from
    doing the same work.
    """

    def __init__(
        self,
        settings: Settings,
        flags: Mapping[str, str],
        name: str,
        project: str | None = None,
        installed_as: str = _USUAL_NAME,
    ) -> None:
        self._settings = settings
        self._flags = flags
        self._name = name
        self._project = project
        self._installed_as = installed_as
        self.log_folder = settings.data / HOST
        own = () if installed_as == _USUAL_NAME else (session_name(installed_as),)
        self.folder = self.log_folder.joinpath(*own)

    # Notes

    def note(self, transcript: Path) -> None:
        """Write down where the transcript is, so that it is found again whatever happens to this session."""
        known = self._noted()
        if known.get("transcript") != str(transcript):
            self._write(".json", json.dumps({"transcript": str(transcript), "project": self._project}))

    def has_news(self) -> bool:
        """Whether the transcript has more than what is stored."""
        transcript = self._noted().get("transcript")
        try:
            return transcript is not None and os.stat(transcript).st_size != self._offset()
        except FileNotFoundError:
            return False

    def note_fault(self, error: BaseException) -> None:
        """Write down what went wrong in the background, for the next hook of the session to tell."""
        self._write(".fault", _told(error))

    def take(self, ending: str) -> str:
        """What the session starts with, or what went wrong, once: the next who asks gets nothing."""
        taken = self._path(f"{ending}.{os.getpid()}")
        try:
            os.rename(self._path(ending), taken)
        except FileNotFoundError:
            return ""
        text = taken.read_text("utf-8")
        taken.unlink()
        return text

    # Work, which may take its time

    def start(self, ready: Callable[[], None]) -> None:
        """Get ready what the session starts with, say so, then finish sessions that ended without saying so."""
        with self._memory(self._project) as memory:
            context = memory.context(self._settings.hook_budget_tokens)
            if context:
                self._write(".context", context)
            ready()
        self.catch_up()

    def keep(self, ready: object = None) -> None:  # noqa: ARG002
        """Store what the transcript has more than is stored."""
        with self._alone():
            self._keep(is_over=False)

    def finish(self, ready: object = None) -> None:  # noqa: ARG002
        """Store the rest, and look for memories in all of it."""
        with self._alone():
            self._keep(is_over=True)
            self._read()
            self._path(".json").unlink(missing_ok=True)

    def catch_up(self) -> None:
        """Finish sessions that ended without saying so, and clear away old notes."""
        now = time.time()
        for path in self.folder.glob("*.json"):
            other = Worker(self._settings, self._flags, path.stem, installed_as=self._installed_as)
            try:
                is_over = other._is_abandoned(now)
                if is_over and other._name != self._name:
                    other.finish()
            except Exception as error:  # noqa: BLE001 - A hook never fails.
                log_fault(self.log_folder, error)
        for path in self.folder.glob("*.*"):
            with contextlib.suppress(OSError):
                age = now - path.stat().st_mtime
                if age > _FORGET_AFTER_S or (".context" in path.name and age > _ABANDONED_AFTER_S):
                    path.unlink()

    def _keep(self, *, is_over: bool) -> None:
        noted = self._noted()
        if "transcript" not in noted:
            return
        with contextlib.suppress(FileNotFoundError), self._memory(noted.get("project")) as memory:
            for text, end in slices(Path(noted["transcript"]), self._offset(), is_over=is_over):
                memory.keep(text)
                self._write(".offset", str(end))

    def _read(self) -> None:
        noted = self._noted()
        if noted:
            with self._memory(noted.get("project")) as memory:
                memory.read()

    @contextlib.contextmanager
    def _memory(self, project: str | None) -> Iterator["_Kept | _Sent"]:
        if self._settings.url:
            yield _Sent(self._settings, self._flags, self._name, project)
            return
        from memorist.bootstrap import local_principal, open_core

        core = open_core(self._settings, is_brief=True)
        try:
            who = {name: self._flags.get(name) for name in ("tenant", "user", "agent")}
            principal = local_principal(core, self._settings, **who, session=self._name, source="claude_code")
            with core.audit.acting("hook", "claude_code", principal):
                yield _Kept(core, principal, self._name, project)
        finally:
            core.close()

    def _is_abandoned(self, now: float) -> bool:
        try:
            return now - os.stat(self._noted()["transcript"]).st_mtime > _ABANDONED_AFTER_S
        except (FileNotFoundError, KeyError):  # There is nothing left to store.
            self._path(".json").unlink(missing_ok=True)
            return False

    def _noted(self) -> dict[str, Any]:
        try:
            noted = json.loads(self._path(".json").read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return noted if isinstance(noted, dict) and isinstance(noted.get("transcript"), str) else {}

    def _offset(self) -> int:
        try:
            return int(self._path(".offset").read_text("ascii"))
        except (FileNotFoundError, ValueError):
            return 0

    def _path(self, ending: str) -> Path:
        return self.folder / f"{self._name}{ending}"

    def _write(self, ending: str, text: str) -> None:
        """Whole or not at all, and for nobody else to read."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._path(f"{ending}.{os.getpid()}.new")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, self._path(ending))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self._path(".lock"), "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


class _Kept:
    """The store itself."""

    def __init__(self, core: Any, principal: "Principal", session: str, project: str | None) -> None:
        self._core = core
        self._principal = principal
        self._session = session
        self._project = project

    def context(self, budget_tokens: int) -> str:
        composed = self._core.composer.compose(self._principal, project=self._project, budget_tokens=budget_tokens)
        text: str = composed.fenced
        return text

    def keep(self, text: str) -> None:
        self._core.transcripts.keep(self._principal, self._session, text)

    def read(self) -> None:
        self._core.transcripts.read(self._principal, self._session, project=self._project)


class _Sent:
    """A server, asked over HTTP."""

    def __init__(self, settings: Settings, flags: Mapping[str, str], session: str, project: str | None) -> None:
        self._url = settings.url
        self._ca_file = settings.ca_file
        from memorist.caller_headers import caller_headers  # What only this needs is imported here only.

        named = {name: flags[name] for name in ("user", "agent") if flags.get(name)}
        caller = caller_headers(settings.api_key, **named)
        self._headers = {"Accept": "application/json"}
        # The library writes a character as a byte.
        self._headers |= {name.decode(): value.decode("latin-1") for name, value in caller}
        self._session = session
        self._project = project

    def context(self, budget_tokens: int) -> str:
        asked = {"project": self._project, "budget_tokens": budget_tokens}
        text: str = self._ask("POST", "/v1/context", asked)["fenced"]
        return text

    def keep(self, text: str) -> None:
        """The server reads for memories what it is sent. A line that it does not take for its size is left out."""
        from urllib.error import HTTPError

        body = {"transcript": text, "sessionId": self._session, "projectPath": self._project}
        try:
            self._ask("POST", "/api/memory/extract", body)
        except HTTPError as error:
            if error.code != _TOO_LARGE:
                raise
            lines = text.splitlines(keepends=True)
            if len(lines) > 1:
                for half in (lines[: len(lines) // 2], lines[len(lines) // 2 :]):
                    self.keep("".join(half))

    def read(self) -> None:
        """Done by the server."""

    def _ask(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        import urllib.parse
        import urllib.request

        query = f"?{urllib.parse.urlencode(body)}" if method == "GET" else ""
        request = urllib.request.Request(
            f"{self._url.rstrip('/')}{path}{query}",
            data=None if method == "GET" else json.dumps(body).encode(),
            headers={**self._headers, "Content-Type": "application/json"},
            method=method,
        )
        from memorist.trust import trusting  # What most never need is imported here only.

        trusted = trusting(self._ca_file) if self._ca_file else None
        with urllib.request.urlopen(request, timeout=_ANSWER_TIMEOUT_S, context=trusted) as response:
            return json.load(response)


def slices(path: Path, offset: int, *, is_over: bool) -> Iterator[tuple[str, int]]:
    """What a transcript holds from that byte on, some whole lines at a time, each with the byte where it ends.

    A last line without its end is still being written; it counts only where the session is over and it is whole.
    """
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < offset:
            offset = 0  # Another file, or written anew: what is stored already is not stored again.
        file.seek(offset)
        while block := file.read(_SLICE):
            if not block.endswith(b"\n"):
                rest = file.readline()
                block += rest
            whole = block[: block.rfind(b"\n") + 1]
            if whole != block and is_over and _is_json(block[len(whole) :]):
                whole = block
            if not whole:
                return
            offset += len(whole)
            file.seek(offset)
            yield whole.decode("utf-8", "replace").replace("\0", ""), offset


def session_name(session_id: str) -> str:
    """The session, or whatever else, as a name for files and for the store."""
    if _SAFE_NAME.fullmatch(session_id):
        return session_id
    import hashlib

    return f"session-{hashlib.sha256(session_id.encode('utf-8', 'replace')).hexdigest()[:32]}"


def log_fault(folder: Path, error: BaseException) -> None:
    """Write down what went wrong; where even that is impossible, let it be."""
    try:
        from memorist.secrets import redact

        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / "hook.log"
        if path.exists() and path.stat().st_size > _LARGEST_LOG:
            os.replace(path, folder / "hook.log.old")
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "error": type(error).__name__,
            "message": redact(str(error)).text[:1000],
        }
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    except Exception:  # noqa: BLE001 - A hook never fails.
        pass


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _in_background(worker: "Worker", work: Callable[[Callable[[], None]], None]) -> int:
    """Do it in a process that outlives this one. Returns a descriptor that ends when that is ready, or done."""
    reader, writer = os.pipe()
    if os.fork() > 0:
        os.close(writer)
        return reader
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        work(lambda: os.close(writer))
    except Exception as error:  # noqa: BLE001 - A hook never fails.
        log_fault(worker.log_folder, error)
        with contextlib.suppress(OSError):
            worker.note_fault(error)
    finally:
        os._exit(0)


def _wait_for_end(descriptor: int, until: float) -> None:
    left = until - time.monotonic()
    if left > 0:
        select.select([descriptor], [], [], left)
