"""What the default installation takes, and how soon the command line answers."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from memorist_bench.ratios.results import Results, at_most, fact

_PROJECT = Path(__file__).parents[3]
_MOST_PACKAGES = 70
_MOST_MEGABYTES = 400
_SLOWEST_HELP = 5
_RUNS = 21

# What is tested together is locked together, the driver of an extra too.
_OF_EXTRAS = ("psycopg", "psycopg-binary", "psycopg-pool")

# What a new environment has before anything is installed.
_TOOLS = ("pip", "setuptools", "wheel")
_COUNT = f"""
from importlib.metadata import distributions
print(len({{d.name.lower() for d in distributions()}} - {set(_TOOLS)}))
"""


def run() -> Results:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as folder:
        environment = Path(folder) / "venv"
        _call(sys.executable, "-m", "venv", str(environment))
        before = _megabytes(environment)
        _install(environment)
        packages = int(_call(str(environment / "bin/python"), "-c", _COUNT))
        megabytes = _megabytes(environment) - before
        help_seconds, python_seconds = _interleaved(
            [str(environment / "bin/memorist"), "--help"], [str(environment / "bin/python"), "-c", "pass"]
        )
    ratios = [slow / fast for slow, fast in zip(help_seconds, python_seconds, strict=True)]
    return {
        "packages": at_most(_MOST_PACKAGES, [packages], "packages"),
        "on disk": at_most(_MOST_MEGABYTES, [megabytes], "MB"),
        "`memorist --help` / `python -c pass`": at_most(_SLOWEST_HELP, ratios),
        "`memorist --help`": fact(median(help_seconds) * 1000, "ms"),
        "`python -c pass`": fact(median(python_seconds) * 1000, "ms"),
    }


def _install(environment: Path) -> None:
    """As `make run` does, but not editable, so that the package itself is counted, and without extras."""
    pip = [str(environment / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
    _call(*pip, "--require-hashes", "--requirement", str(_PROJECT / "requirements/run.txt"))
    _call(*pip, "--no-deps", str(_PROJECT))
    _call(pip[0], "uninstall", "--quiet", "--yes", *_OF_EXTRAS)


def _interleaved(first: list[str], second: list[str]) -> tuple[list[float], list[float]]:
    seconds: tuple[list[float], list[float]] = ([], [])
    for run_number in range(_RUNS + 1):
        for contender, command in enumerate((first, second)):
            started = time.perf_counter()
            _call(*command)
            if run_number > 0:  # The first one fills the disk's cache.
                seconds[contender].append(time.perf_counter() - started)
    return seconds


def _call(*command: str) -> str:
    """Run a command and return what it printed. Raises RuntimeError with its complaint."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def _megabytes(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 1e6
