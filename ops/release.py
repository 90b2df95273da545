"""Makes a release, or refuses to: `make release`.

The version stands in src/memorist/version.py. `make version VERSION=1.2.3` writes it there and wherever else it has to
stand, and gives what is unreleased in the changelog its heading. Then: commit, tag it `v1.2.3`, `make release`.
"""

import argparse
import datetime
import filecmp
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ops import sizes

ROOT = Path(__file__).parents[1]
_SOURCE = "src/memorist/version.py"
_VERSION = r"\d+\.\d+\.\d+"
_SHOWN = rf'(memorist(?:-|": "| +)|Memorist |version"?[:=]")({_VERSION})\b'
# Where the version stands besides, and how it is found there.
_PLACES = {
    _SOURCE: rf'(__version__ = ")({_VERSION})(?=")',
    "clients/typescript/package.json": rf'(\A\{{\s*"name": "memorist",\s*"version": ")({_VERSION})(?=")',
    "clients/typescript/package-lock.json": rf'("name": "memorist",\s*"version": ")({_VERSION})(?=")',
    "ops/kubernetes/deployment.yaml": rf"(image: memorist:)({_VERSION})(?=\n)",
    # What the examples print.
    "docs/howto/find-what-is-wrong.md": _SHOWN,
    "docs/howto/install.md": _SHOWN,
    "docs/howto/run-the-server.md": _SHOWN,
    "docs/howto/use-postgresql.md": _SHOWN,
    "docs/howto/watch-a-server.md": _SHOWN,
    "docs/tutorial/first-memories.md": _SHOWN,
}
_CHANGELOG = "CHANGELOG.md"
_UNRELEASED = "## Unreleased\n"
_NOTES = "docs/howto/upgrade.md"
_NOTES_UNRELEASED = "### To Unreleased\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("--version", help="write this version down, and release nothing")
    parser.add_argument("--rehearse", action="store_true", help="neither tag, changelog nor a clean tree is needed")
    parser.add_argument("--skip-tests", action="store_true", help="where they ran already")
    asked = parser.parse_args()
    if asked.version:
        write_version(ROOT, asked.version, datetime.datetime.now(datetime.UTC).date())  # noqa: TID251
        print(f"{asked.version} is written down. Commit it, and tag the commit v{asked.version}.")
        return
    problems = list(disagreements(ROOT, strict=not asked.rehearse))
    if not problems:
        for target in ("lint",) if asked.skip_tests else ("lint", "test"):
            _run("make", "--no-print-directory", target)
        wheel, sdist = build(ROOT / "dist", twice=True)
        figures = [(f"{one:,} {what}; at most {most:,}", one > most) for what, one, most in sizes.figures(wheel)]
        print(wheel.relative_to(ROOT), sdist.relative_to(ROOT), *(line for line, _ in figures), sep="\n")
        problems = [line for line, is_over in figures if is_over]
    if problems:
        sys.exit("\n".join(f"error: {problem}" for problem in problems))


def stated(root: Path) -> dict[str, set[str]]:
    """Every place that says a version, and which."""
    return {
        place: {found[1] for found in re.findall(pattern, (root / place).read_text("utf-8"))}
        for place, pattern in _PLACES.items()
    }


def write_version(root: Path, version: str, day: datetime.date) -> None:
    """Write the version down wherever it has to stand; what is unreleased gets its heading, in the notes as well."""
    if not re.fullmatch(_VERSION, version):
        sys.exit(f"error: a version is three numbers such as 1.2.3, not {version}")
    for place, pattern in _PLACES.items():
        text = (root / place).read_text("utf-8")
        (root / place).write_text(re.sub(pattern, rf"\g<1>{version}", text), "utf-8")
    for place, heading, more in (
        (_CHANGELOG, _UNRELEASED, f"\n## {version} - {day}\n"),
        (_NOTES, _NOTES_UNRELEASED, f"\nNone are needed: nothing has changed yet.\n\n### To {version}\n"),
    ):
        text = (root / place).read_text("utf-8")
        (root / place).write_text(text.replace(heading, heading + more, 1), "utf-8")


def disagreements(root: Path, *, strict: bool) -> Iterator[str]:
    """Why this tree is no release: the places that say a version, the changelog, the tag, what is not committed."""
    places = stated(root)
    (version,) = places[_SOURCE]
    for place, versions in places.items():
        if versions != {version}:
            yield f"{place} says {', '.join(sorted(versions)) or 'no version'}, and {_SOURCE} {version}"
    changelog = (root / _CHANGELOG).read_text("utf-8")
    if not re.search(rf"^## {re.escape(version)}( - \d{{4}}-\d\d-\d\d)?$", changelog, re.MULTILINE):
        yield f"{_CHANGELOG} has no heading for {version}"
    if not strict:
        return
    if changelog.partition(_UNRELEASED)[2].partition("\n## ")[0].strip():
        yield f"{_CHANGELOG} has changes under Unreleased: `make version VERSION=…` gives them a version"
    if _git(root, "status", "--porcelain"):
        yield "the tree has changes that are not committed"
    tags = _git(root, "tag", "--points-at", "HEAD").split()
    if f"v{version}" not in tags:
        yield f"this commit has not the tag v{version}: {', '.join(tags) or 'it has none'}"


def build(folder: Path, *, root: Path = ROOT, twice: bool = False) -> tuple[Path, Path]:
    """The wheel and the sdist, whose bytes depend on nothing but what is packed. Raises SystemExit where they do."""
    pack(folder, root)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    if twice:
        with tempfile.TemporaryDirectory() as other:
            pack(Path(other), root)
            for made in (wheel, sdist):
                if not filecmp.cmp(made, Path(other) / made.name, shallow=False):
                    sys.exit(f"error: {made.name} has other bytes when it is built again")
    return wheel, sdist


def pack(folder: Path, root: Path = ROOT, *targets: str) -> None:
    """Put the wheel and the sdist, or one of them, into the folder, in the place of older ones."""
    for old in folder.glob("memorist-*"):
        old.unlink()
    # The day of the last commit, unless the packager says which.
    moment = os.environ.get("SOURCE_DATE_EPOCH") or _git(root, "log", "-1", "--format=%ct") or "1577836800"
    chosen = [part for target in targets for part in ("--target", target)]
    _run(sys.executable, "-m", "hatchling", "build", "-d", str(folder), *chosen, cwd=root, SOURCE_DATE_EPOCH=moment)


def _git(root: Path, *arguments: str) -> str:
    """What git says; nothing where this is no repository."""
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True).stdout.strip()


def _run(*command: str, cwd: Path = ROOT, **environment: str) -> None:
    if subprocess.run(command, cwd=cwd, env=os.environ | environment).returncode:
        sys.exit(f"error: {' '.join(command)} failed")


if __name__ == "__main__":
    main()
