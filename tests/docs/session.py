"""Runs the examples of one page, in order, as a reader would: one folder, one shell, one server at a time.

In a `console` block a line that begins with `$ ` is a command (with an open quote, or a backslash at its end, it goes
on in the next line), and what stands beneath it is its output, stdout and stderr as a terminal shows them. There `…`
stands for any text, and alone on a line for any lines; ids, times, versions and sizes may differ. `memorist serve` and
`make run` start a server in the background, on a free port in place of 8377, and end the one before. A `python` block
runs in this process; a `text` block right after it is what it prints. A block whose first line is `# file: NAME` is
only written to that file.
"""

import asyncio
import contextlib
import difflib
import gc
import io
import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from memorist.addresses import without_password
from tests.docs.pages import Block
from tests.support.waiting import eventually

PORT = "8377"
DATABASE_URL = "postgresql://memorist:secret@localhost/memorist"

_MARK = "--- end of output, exit code "
_SERVER = re.compile(r"^(memorist serve|make run)\b(.*)$", re.DOTALL)
_FILE = re.compile(r"# file: (\S+)\n")

# What differs from run to run, in the output and in what the page shows.
_NORMAL: list[tuple[str, str]] = [
    (r"\b(mem|key|req|rcpt|job|dbt)_[0-9A-Z]{26}\b", r"\1_ID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", "TIME"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b", "TIME"),
    (r"\b[0-9a-f]{13}\b", "VERSION"),
    # Pages say what a server without it does; `make citus` tries them on a cluster.
    (r"PostgreSQL with Citus", "PostgreSQL"),
    (r"warning +cluster +Citus: the tables are [^.]+\.[^.]+\.\n", ""),
    (r"\b\d+\.\d+\.\d+\b(?<!127\.0\.0)(?!\.)", "RELEASE"),
    (r"\b(mst_(?:live|user)_)[0-9a-f]{72}\b", r"\1KEY"),
    (r"\b[A-Za-z0-9_-]{60,}\b", "CURSOR"),
    (r"\b[\d.]+ GiB\b", "SIZE"),
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
    # int8 arithmetic differs a little between processors.
    (r'"score": 0\.\d+', '"score": SCORE'),
    (r"size_bytes( +)\d+", r"size_bytes\1SIZE"),
    (r"\bin \d+\.\d+s\b", "in SECONDS"),
    (r'"ms": [\d.]+', '"ms": MS'),
    (r"[ \t]+", " "),
    (r"─+", "─"),
]


class Mismatch(AssertionError):
    pass


def _close_idle_loops() -> None:
    """Close event loops that a framework in an example made and left open: nobody else would."""
    for one in gc.get_objects():
        # By its type: asking some objects for their class warns.
        if issubclass(type(one), asyncio.BaseEventLoop) and not one.is_closed() and not one.is_running():
            one.close()


class Session:
    def __init__(self, folder: Path, database_url: str | None = None) -> None:
        self.folder = folder
        self.port = _free_port()
        # What a page shows and what there really is.
        self._inputs = {PORT: str(self.port)}
        self._outputs = {str(self.port): PORT}
        if database_url is not None:
            self._inputs[DATABASE_URL] = database_url
            self._outputs[without_password(database_url)] = without_password(DATABASE_URL)
            self._outputs[conninfo_to_dict(database_url)["dbname"]] = "memorist"
        self._names: dict[str, Any] = {"__name__": "__page__"}
        self._server: str | None = None
        self._starts = 0
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            text=True,
        )

    def close(self) -> None:
        self._stop_server()
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.close()
        self._bash.stdout.close()
        self._bash.wait()
        _close_idle_loops()

    # Blocks

    def console(self, block: Block) -> None:
        for command, shown in commands_of(block):
            server = _SERVER.match(command)
            code, output = self._serve(server[1], server[2]) if server else self._run(command)
            self._compare(command, shown, output)
            # A command that fails says so on the page.
            if (code == 0) == ("error:" in shown):
                raise Mismatch(f"`{command}` exited with {code}:\n{output}")

    def python(self, block: Block, shown: str | None) -> None:
        code = self._to_real(block.text)
        file = _FILE.match(code)
        if file:
            (self.folder / file[1]).write_text(code, "utf-8")
            return
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, f"line {block.line}", "exec"), self._names)
        if shown is not None or out.getvalue():
            self._compare("the Python block", shown or "", out.getvalue())

    # The shell

    def _run(self, command: str) -> tuple[int, str]:
        script = self.folder.parent / "command.sh"
        script.write_text(self._to_real(command) + "\n", "utf-8")
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        # Sourced, so that what it sets stays; without the shell's own input, which holds the next command.
        self._bash.stdin.write(f". {script} </dev/null; printf '\\n{_MARK}%s\\n' $?\n")
        self._bash.stdin.flush()
        lines = []
        for line in self._bash.stdout:
            if line.startswith(_MARK):
                text = "".join(lines)
                return int(line.removeprefix(_MARK)), text.removesuffix("\n")
            lines.append(line)
        raise Mismatch(f"`{command}` ended the shell:\n{''.join(lines)}")

    def _serve(self, command: str, options: str) -> tuple[int, str]:
        self._stop_server()
        self._starts += 1
        out, err = (self.folder.parent / f"server-{self._starts}.{name}" for name in ("out", "err"))
        out.touch()
        if command == "make run":
            options = f"{options} --data .memorist"
        port = "" if "--port" in options else f" --port {self.port}"
        _, pid = self._run(f"memorist serve{options}{port} >{out} 2>{err} & echo $!")
        self._server = pid.strip()
        eventually(lambda: self._has_greeted(out) or self._is_gone())
        greeting = out.read_text("utf-8")
        if not self._is_gone():
            return 0, greeting
        code, _ = self._run(f"wait {self._server}")
        self._server = None
        return code, greeting + err.read_text("utf-8")

    def _has_greeted(self, out: Path) -> bool:
        return "Stop with Ctrl-C" in out.read_text("utf-8") and _answers(self.port)

    def _is_gone(self) -> bool:
        return self._run(f"kill -0 {self._server} 2>/dev/null")[0] != 0

    def _stop_server(self) -> None:
        if self._server is not None:
            self._run(f"kill {self._server}; wait {self._server}")
            self._server = None

    # Comparing

    def _to_real(self, text: str) -> str:
        for shown, real in self._inputs.items():
            text = text.replace(shown, real)
        return text

    def _compare(self, command: str, shown: str, output: str) -> None:
        for real, name in self._outputs.items():
            output = output.replace(real, name)
        expected, actual = _normal(shown), _normal(output)
        if not _pattern(expected).fullmatch("".join(f"{line}\n" for line in actual)):
            diff = "\n".join(difflib.unified_diff(expected, actual, "shown", "real", lineterm="", n=50))
            raise Mismatch(f"`{command}` printed something else:\n{diff}\n\nas it came:\n{output}")


def commands_of(block: Block) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown beneath it."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif found and not found[-1][1] and _goes_on("\n".join(found[-1][0])):
            found[-1][0].append(line)
        elif found:
            found[-1][1].append(line)
        else:
            raise Mismatch(f"line {block.line}: a console block begins with a command, as in `$ memorist list`")
    return [("\n".join(command), "\n".join(output)) for command, output in found]


def _goes_on(command: str) -> bool:
    if command.endswith("\\"):
        return True
    try:
        shlex.split(command)
    except ValueError:
        return True
    return False


def environment(home: Path) -> dict[str, str]:
    """What a reader's terminal has: nothing of whoever runs the tests except the programs."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "SHELL": "/bin/bash",
        # In a terminal, stdout and stderr come in the order in which they were written.
        "PYTHONUNBUFFERED": "1",
        # A machine that is busy with other tests answers as one that is not.
        "MEMORIST_RECALL_BUDGET_MS": "0",
    }


def _normal(text: str) -> list[str]:
    for pattern, replacement in _NORMAL:
        text = re.sub(pattern, replacement, text)
    return [line.strip() for line in text.strip().splitlines() if line.strip()]


def _pattern(lines: list[str]) -> re.Pattern[str]:
    parts = ["(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + "\n" for line in lines]
    return re.compile("".join(parts))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
