"""The TypeScript client, built once, where there is Node 20 or newer. Where there is none the tests say so, loudly."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import by_keyword
from tests.typescript.serve import serving_typescript

__all__ = ["by_keyword"]

_SOURCES = ("src", "test", "examples")
PACKAGE = Path(__file__).parents[2] / "clients/typescript"
# The wheel's Node lies beside Python.
_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
_MISSING = "The tests of the TypeScript client DID NOT RUN: {}. `make test` sets it up where it can."


def node() -> str:
    """The path of Node. Skips the test where there is none, or what it needs is not installed."""
    path = shutil.which("node", path=_PATH)
    if path is None:
        return _skip("there is no Node on the PATH")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) < 20:
        return _skip(f"Node 20 or newer is needed, and this is {version.strip()}")
    if not (PACKAGE / "node_modules/typescript").exists():
        return _skip("its packages are not installed (`npm ci` in clients/typescript)")
    return path


def _skip(reason: str) -> str:
    # Where everything is to run, as in CI, nothing may be left out in silence.
    if os.environ.get("CI"):
        pytest.fail(_MISSING.format(reason))
    pytest.skip(_MISSING.format(reason))


def run(*command: str, **environment: str) -> str:
    """What a command says in the package's folder. Fails the test where it fails."""
    done = subprocess.run(
        command,
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": _PATH} | environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def built() -> str:
    """The path of Node; the package and its tests are compiled."""
    path = node()
    sources = [*PACKAGE.glob("*.*"), *(one for name in _SOURCES for one in sorted((PACKAGE / name).rglob("*.ts")))]
    digest = hashlib.sha256(b"".join(one.read_bytes() for one in sorted(sources) if one.is_file())).hexdigest()
    # Several processes run tests, and one of them builds.
    with (PACKAGE / "node_modules/.building").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = PACKAGE / "dist/.built"
        if not stamp.exists() or stamp.read_text() != digest:
            run(path, "build.mjs")
            stamp.write_text(digest)
    return path


@pytest.fixture(scope="session")
def typescript_server() -> Iterator[str]:
    with serving_typescript() as told:
        yield told


class Bridge:
    """A client in another process, told line by line what to do."""

    def __init__(self, node: str) -> None:
        self._process = subprocess.Popen(
            [node, PACKAGE / "dist/tested/test/bridge.js"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **asked: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="session")
def bridge(built: str) -> Iterator[Bridge]:
    bridge = Bridge(built)
    yield bridge
    bridge.close()
