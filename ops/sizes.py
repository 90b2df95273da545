"""What an installation takes: `python -m ops.sizes [WHEEL]` lists every package that it brings, with its bytes.

Everything that pip would install is followed from the metadata of the packages that are installed here, on this
platform and without extras. What the image has beyond Python is the same, with bytecode, less what it leaves out.
"""

import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

MOST_PACKAGES = 70
MOST_BYTES_OF_WHEEL = 120_000_000
MOST_BYTES_INSTALLED = 400_000_000
MOST_BYTES_OF_LAYERS = 350_000_000
LEFT_OUT = (Path(__file__).parent / "image-leaves-out.txt").read_text().split()


def installed() -> dict[str, Distribution]:
    """Every package that an installation has, this one too, by its name."""
    found: dict[str, Distribution] = {}
    seen = set()
    waiting = [("memorist", "")]
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


def files(wheel: Path) -> dict[str, dict[str, int]]:
    """The bytes of each file of each package, by its path where packages lie; those of this one are in the wheel."""
    with zipfile.ZipFile(wheel) as packed:
        own = {one.filename: one.file_size for one in packed.infolist()}
    found = {name: dict(_files_of(there)) for name, there in installed().items() if name != "memorist"}
    return found | {"memorist": own}


def is_left_out(path: str) -> bool:
    """Whether the image does without it: nothing in it is used here."""
    return any(fnmatch(path, pattern) or fnmatch(path, f"{pattern}/*") for pattern in LEFT_OUT)


def figures(wheel: Path) -> list[tuple[str, int, int]]:
    """What was promised: a name, the figure, and the most that it may be."""
    each = files(wheel)
    every = {path: size for one in each.values() for path, size in one.items()}
    kept = {path: size for path, size in every.items() if not is_left_out(path)}
    return [
        ("packages", len(each), MOST_PACKAGES),
        ("bytes of the wheel", wheel.stat().st_size, MOST_BYTES_OF_WHEEL),
        ("bytes installed", sum(every.values()), MOST_BYTES_INSTALLED),
        ("bytes of the image's layers beyond Python", sum(kept.values()) + _bytecode(kept), MOST_BYTES_OF_LAYERS),
    ]


def _files_of(there: Distribution) -> Iterator[tuple[str, int]]:
    for file in there.files or ():
        path = Path(str(file.locate()))
        if file.suffix != ".pyc" and path.is_file():
            yield file.as_posix(), path.stat().st_size


def _bytecode(every: Mapping[str, int]) -> int:
    """What Python makes of it: of all packages here 1.3 times what it is made of."""
    return sum(size * 13 // 10 for path, size in every.items() if path.endswith(".py"))


def main() -> None:
    wheel = Path(sys.argv[1]) if len(sys.argv) > 1 else max(Path("dist").glob("memorist-*.whl"))
    totals = {name: sum(one.values()) for name, one in files(wheel).items()}
    for name, size in sorted(totals.items(), key=lambda one: -one[1]):
        print(f"{size / 1e6:8.1f} MB  {name}")
    for what, figure, most in figures(wheel):
        print(f"{figure:>13,} {what}; at most {most:,}")


if __name__ == "__main__":
    main()
