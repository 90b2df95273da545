"""Backups of the embedded database on a schedule: one whenever it is due, and no more of them than are to be kept.

The folder itself says when the last was made, so that a restart makes none too many and none too few.
"""

import hashlib
import math
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memorist.errors import MemoristError, StoreUnavailable
from memorist.platform.loop import Loop
from memorist.ports import Store
from memorist.times import Clock, to_iso

_NAME = re.compile(r"memorist-(\d{8}T\d{6})Z-([0-9a-f]{8})\.db")
_STAMP = "%Y%m%dT%H%M%S"
_FIRST_RETRY_S = 60.0
_MOST_DOUBLINGS = 6
LATE = timedelta(hours=1)
"""How long after it was due a backup is missed: a large one takes its time."""


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """Where backups go, how often one is made, and of how many days and weeks the last one is kept."""

    folder: Path
    every: timedelta
    days: int
    weeks: int
    mark: str
    """What the names of this database's own have: others may go to the same folder. Eight hexadecimal digits."""

    @property
    def holds(self) -> str:
        """What a receipt of an erasure says of them."""
        days = max(self.days, 7 * self.weeks) + math.ceil(self.every / timedelta(days=1))
        return (
            f"The backups that this server made on its schedule before: each for up to {days} days, while others are "
            "made. Restoring one erases it again."
        )

    def missed(self, now: datetime) -> str:
        """What is wrong with the backups, or ''. Raises StoreUnavailable where the folder cannot be read."""
        last = self.last(now)
        if last is None:
            return "No backup was made yet."
        is_late = now > last + self.every + LATE
        return f"The last backup is of {to_iso(last)}, and one is due every {self.every}." if is_late else ""

    def last(self, now: datetime) -> datetime | None:
        """When the last was made. Raises StoreUnavailable.

        One that is dated ahead was made by a clock that was: it keeps no other from being made, and hides none that is
        missed.
        """
        return max((one for one in self.made() if one <= now), default=None)

    def path_of(self, made_at: datetime) -> Path:
        """What the backup of a moment is called."""
        return self.folder / f"memorist-{stamp_of(made_at)}-{self.mark}.db"

    def made(self) -> dict[datetime, Path]:
        """The backups of this database, by when they were made. Raises StoreUnavailable."""
        return {made_at: path for (made_at, mark), path in _found_in(self.folder).items() if mark == self.mark}


class Backups:
    """Makes them in the background of a server, in a loop of its own."""

    def __init__(self, store: Store, clock: Clock, plan: BackupPlan, *, background: bool = True) -> None:
        self._store = store
        self._clock = clock
        self._plan = plan
        self._loop = Loop("backups", self.make_due, _FIRST_RETRY_S, _MOST_DOUBLINGS, background=background)
        self._fails = False

    def start(self) -> None:
        self._loop.start()

    def close(self) -> None:
        self._loop.close()

    def make_due(self) -> float:
        """Make a backup where one is due, and drop those that are over. Returns the seconds until the next is due.

        Raises StoreError; what was there stays then.
        """
        now = self._clock.now()
        try:
            last = self._plan.last(now)
            if last is None or now - last >= self._plan.every:
                self._store.backup(self._plan.path_of(now))
                last = now
            drop_over(self._plan, now)
        except MemoristError:
            self._fails = True
            raise
        self._fails = False
        return max((last + self._plan.every - now).total_seconds(), 1.0)

    def trouble(self) -> str:
        """What is wrong with them now, or ''; it names no place."""
        if not self._fails:
            with suppress(StoreUnavailable):
                return self._plan.missed(self._clock.now())
        return "Backups fail: the log says why."


def stamp_of(moment: datetime) -> str:
    """A moment as names of files have it."""
    return moment.astimezone(UTC).strftime(f"{_STAMP}Z")


def mark_of(database: Path, made_at: datetime, folder: Path) -> str:
    """What tells a database from others: where it is, seen from the folder of its backups, and when it was made.

    One that is moved together with them keeps it. In containers, others are in the same place.
    """
    relative = os.path.relpath(database.resolve(), folder.resolve())
    return hashlib.sha256(f"{relative} {to_iso(made_at)}".encode()).hexdigest()[:8]


def backups_in(folder: Path) -> list[Path]:
    """The backups of a folder, of whatever database; other files are none of them. Raises StoreUnavailable."""
    return list(_found_in(folder).values())


def _found_in(folder: Path) -> dict[tuple[datetime, str], Path]:
    try:
        found = [(match, one) for one in folder.iterdir() if (match := _NAME.fullmatch(one.name))]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreUnavailable(f"The folder of backups {folder} cannot be read: {error.strerror}.") from error
    return {(datetime.strptime(match[1], _STAMP).replace(tzinfo=UTC), match[2]): one for match, one in found}


def drop_over(plan: BackupPlan, now: datetime) -> None:
    """Remove the backups that are no longer to be kept. Raises StoreUnavailable."""
    found = plan.made()
    try:
        for made_at in found.keys() - kept(found, now, plan.days, plan.weeks):
            found[made_at].unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"An old backup in {plan.folder} cannot be removed: {error.strerror}.") from error


def kept(made: Iterable[datetime], now: datetime, days: int, weeks: int) -> set[datetime]:
    """Which of them to keep: the last one, and the last of each of so many days and so many weeks, today's among them.

    Days are those of UTC, and weeks begin on Monday.
    """
    monday = now.date() - timedelta(days=now.weekday())
    last: dict[tuple[str, int], datetime] = {}
    for one in sorted(made):
        last["any", 0] = one
        if (day := (now.date() - one.date()).days) < days:
            last["day", day] = one
        if (week := (monday - one.date() + timedelta(days=one.weekday())).days // 7) < weeks:
            last["week", week] = one
    return set(last.values())
