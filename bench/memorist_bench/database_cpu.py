"""What a PostgreSQL on this machine computes, as far as Linux tells."""

from collections.abc import Iterator
from pathlib import Path

_PROCESSES = Path("/proc")


class DatabaseCpu:
    """What the processes of a database's connections compute, those between the nodes of a cluster with it."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._seen: dict[str, float] = {}
        self.seconds = 0.0

    def look(self) -> float:
        """The seconds so far, since the first look: of those that are there, whenever they came."""
        now = dict(self._processes())
        self.seconds += sum(seconds - self._seen.get(process, 0.0) for process, seconds in now.items())
        self._seen |= now
        return self.seconds

    def _processes(self) -> Iterator[tuple[str, float]]:
        for folder in _PROCESSES.glob("[0-9]*"):
            try:
                # Such as `postgres: role database 127.0.0.1(40000) idle`.
                title = (folder / "cmdline").read_text("utf-8", "replace").rstrip("\0 ").split(" ")
                if title[0] != "postgres:" or self._database not in title[2:]:
                    continue
                nanoseconds = int((folder / "schedstat").read_text().split()[0])
            except OSError:  # It ended meanwhile.
                continue
            yield folder.name, nanoseconds / 1e9
