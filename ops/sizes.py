"""What an installation takes: `python -m ops.sizes [WHEEL]` lists every package that it brings, with its bytes.

Everything that pip would install is followed from the metadata of the packages that are installed here, on this
platform and without extras, and counted with the bytecode that pip leaves beside it. What the image has beyond Python
is the same with the extras of the image, less what it leaves out.
"""

import marshal
import re
import sys
import warnings
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib.metadata import Distribution, distribution
from importlib.util import cache_from_source
from pathlib import Path

from packaging.requirements import Requirement

MOST_PACKAGES = 70
MOST_BYTES_OF_WHEEL = 120_000_000
MOST_BYTES_INSTALLED = 400_000_000
MOST_BYTES_OF_LAYERS = 350_000_000
IMAGE_EXTRAS = ("postgres",)
LEFT_OUT = (Path(__file__).parent / "image-leaves-out.txt").read_text().split()


def installed(*extras: str) -> dict[str, Distribution]:
    """Every package that an installation with these extras has, this one too, by its name."""
    found: dict[str, Distribution] = {}
    seen = set()
    waiting = [("memorist", extra) for extra in ("", *extras)]
    while waiting:
        wanted = waiting.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        name, extra = wanted
        found[name] = distribution(name)
        for need in map(Requirement, found[name].requires or ()):
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                waiting += [(re.sub(r"[-_.]+", "-", need.name).lower(), one) for one in ("", *need.extras)]
    return found


def files(wheel: Path, *extras: str) -> dict[str, dict[str, int]]:
    """The bytes of each file of each package, by its path where packages lie; those of this one are in the wheel."""
    found = {name: dict(_files_of(there)) for name, there in installed(*extras).items() if name != "memorist"}
    return found | {"memorist": dict(_files_in(wheel))}


def is_left_out(path: str) -> bool:
    """Whether the image does without it: nothing in it is used here."""
    return any(fnmatch(path, pattern) or fnmatch(path, f"{pattern}/*") for pattern in LEFT_OUT)


def figures(wheel: Path) -> list[tuple[str, int, int]]:
    """What was promised: a name, the figure, and the most that it may be."""
    each = files(wheel)
    image = (one for package in files(wheel, *IMAGE_EXTRAS).values() for one in package.items())
    return [
        ("packages", len(each), MOST_PACKAGES),
        ("bytes of the wheel", wheel.stat().st_size, MOST_BYTES_OF_WHEEL),
        ("bytes installed", sum(sum(one.values()) for one in each.values()), MOST_BYTES_INSTALLED),
        (
            "bytes of the image's layers beyond Python",
            sum(size for path, size in image if not is_left_out(path)),
            MOST_BYTES_OF_LAYERS,
        ),
    ]


def _files_of(there: Distribution) -> Iterator[tuple[str, int]]:
    for file in there.files or ():
        path = Path(str(file.locate()))
        if file.suffix == ".pyc" or not path.is_file():
            continue
        yield file.as_posix(), path.stat().st_size
        if file.suffix == ".py":
            made = Path(cache_from_source(str(path)))
            size = made.stat().st_size if made.is_file() else _bytecode(path.read_bytes(), str(path))
            yield cache_from_source(file.as_posix()), size


def _files_in(wheel: Path) -> Iterator[tuple[str, int]]:
    with zipfile.ZipFile(wheel) as packed:
        for one in packed.infolist():
            yield one.filename, one.file_size
            if one.filename.endswith(".py"):
                yield cache_from_source(one.filename), _bytecode(packed.read(one), one.filename)


def _bytecode(source: bytes, name: str) -> int:
    """What Python makes of it: a head of 16 bytes and the code; nothing of what it cannot read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return 16 + len(marshal.dumps(compile(source, name, "exec", dont_inherit=True)))
        except (SyntaxError, ValueError):
            return 0


def main() -> None:
    wheel = Path(sys.argv[1]) if len(sys.argv) > 1 else max(Path("dist").glob("memorist-*.whl"))
    totals = {name: sum(one.values()) for name, one in files(wheel).items()}
    for name, size in sorted(totals.items(), key=lambda one: -one[1]):
        print(f"{size / 1e6:8.1f} MB  {name}")
    for what, figure, most in figures(wheel):
        print(f"{figure:>13,} {what}; at most {most:,}")


if __name__ == "__main__":
    main()
