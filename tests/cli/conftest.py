"""Two ways to run the command line: in this process (fast) and as the real executable."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memorist.surfaces.cli.runner import run

EXECUTABLE = Path(sys.executable).with_name("memorist")


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error that `--json` printed, as the only thing on stderr."""
        assert self.out == ""
        return json.loads(self.err)["error"]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the settings nor the data of whoever runs the tests."""
    for name in os.environ:
        if name.startswith("MEMORIST_") or name in ("FORCE_COLOR", "COLUMNS"):
            monkeypatch.delenv(name)
    (tmp_path / "home" / ".local" / "share").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "home")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    # Models cost seconds, and most commands are not about meaning: tests that are ask for `models`.
    monkeypatch.setenv("MEMORIST_EMBEDDER", "off")
    monkeypatch.setenv("MEMORIST_RERANKER", "off")


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local models, for tests about meaning."""
    monkeypatch.setenv("MEMORIST_EMBEDDER", "local")
    monkeypatch.setenv("MEMORIST_RERANKER", "local")
    monkeypatch.setenv("MEMORIST_RECALL_BUDGET_MS", "0")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder that commands use."""
    return tmp_path / "home" / ".local" / "share" / "memorist"


class Cli:
    """Runs commands in this process, through everything but `main`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Result:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
        with self._monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = run(arguments)
        return Result(code, _text(out), _text(err))

    def ok(self, *arguments: str, stdin: bytes = b"") -> Result:
        result = self(*arguments, stdin=stdin)
        assert result.code == 0, result.err
        return result

    def json(self, *arguments: str, stdin: bytes = b"") -> Any:
        """What a command that succeeds prints with `--json`."""
        return self.ok(*arguments, "--json", stdin=stdin).json

    def key(self, role: str, *options: str) -> str:
        """A new API key."""
        secret: str = self.json("keys", "create", "--role", role, *options)["key"]
        return secret

    def texts(self, *options: str) -> set[str]:
        """The texts that `memorist list` shows."""
        return {item["content"] for item in self.json("list", "--all", *options)["items"]}


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(monkeypatch)


def execute(*arguments: str | bytes, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> Result:
    """Run the installed executable, with further variables in its environment."""
    done = subprocess.run(
        [EXECUTABLE, *arguments],
        input=stdin,
        capture_output=True,
        env={**os.environ, **(environment or {})},
        timeout=60,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())
