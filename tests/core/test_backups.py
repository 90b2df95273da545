"""Backups on a schedule: when one is made, which are kept, what becomes of failures, and a drill of restoring."""

import os
import shutil
import signal
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import apsw
import hypothesis
import pytest
from hypothesis import strategies

from memorist.bootstrap import open_core, verify_backup
from memorist.core import Core
from memorist.errors import StoreCorrupt, StoreUnavailable
from memorist.memories.values import Draft
from memorist.platform.backups import backups_in, kept
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.store.backups import placed
from memorist.testing import StepClock
from memorist.testing.clocks import START
from tests.support.processes import CONTEXT
from tests.support.stores import bare
from tests.support.waiting import eventually

ADA = Principal("t", Role.USER, "ada-lovelace")
ADMIN = Principal("t", Role.ADMIN)
DAY = timedelta(days=1)
MOMENTS = strategies.datetimes(datetime(2026, 1, 1), datetime(2026, 6, 1), timezones=strategies.just(UTC))


@pytest.fixture
def settings(own_sqlite_url: str, tmp_path: Path) -> Settings:
    return bare(own_sqlite_url, backup_every_hours=24.0, backup_folder=str(tmp_path / "kept"))


def opened(settings: Settings, clock: StepClock) -> Core:
    core = open_core(settings, clock=clock, background=False)
    core.identity.create_tenant("t")
    return core


def made(settings: Settings) -> list[str]:
    return sorted(one.name for one in backups_in(settings.backups_path()))


def moments_of(core: Core) -> list[datetime]:
    assert core.options.backups is not None
    return sorted(core.options.backups.made())


def make_due(core: Core) -> float:
    assert core.backups is not None
    return core.backups.make_due()


def test_one_is_made_when_it_is_due_and_a_restart_makes_no_other(settings: Settings) -> None:
    clock = StepClock()
    core = opened(settings, clock)
    assert make_due(core) == pytest.approx(DAY.total_seconds(), abs=60)
    first = made(settings)
    assert len(first) == 1
    clock.advance(DAY / 2)
    assert make_due(core) == pytest.approx(DAY.total_seconds() / 2, abs=60)
    core.close()
    core = opened(settings, clock)
    make_due(core)
    assert made(settings) == first
    clock.advance(DAY / 2)
    make_due(core)
    assert len(made(settings)) == 2
    core.close()
    (folder,) = {one.parent for one in backups_in(settings.backups_path())}
    assert {one.stat().st_mode & 0o777 for one in folder.iterdir()} == {0o600}


def test_days_and_weeks_are_kept_and_no_other_file_is_touched(settings: Settings) -> None:
    clock = StepClock()
    core = opened(settings, clock)
    mine = settings.backups_path() / "before-upgrade-20200101T000000Z.db"
    for _ in range(40):
        make_due(core)
        mine.touch()
        clock.advance(DAY)
    core.close()
    found = moments_of(core)
    assert 7 <= len(found) <= 7 + 4
    assert [later - one for one, later in pairwise(found[-7:])] == [DAY] * 6
    assert timedelta(weeks=2) < found[-1] - found[0] < timedelta(weeks=4)
    assert mine.exists()


@hypothesis.given(
    strategies.lists(MOMENTS, max_size=60), MOMENTS, strategies.integers(1, 10), strategies.integers(0, 8)
)
def test_what_is_kept_is_the_last_of_each_day_and_week(
    moments: list[datetime], now: datetime, days: int, weeks: int
) -> None:
    moments = [one for one in moments if one <= now]
    found = kept(moments, now, days, weeks)
    assert found <= set(moments)
    assert len(found) <= days + weeks + 1
    if moments:
        assert max(moments) in found
    for one in moments:
        if (now.date() - one.date()).days < days:
            assert max(other for other in moments if other.date() == one.date()) in found


def test_failure_leaves_what_was_there_and_is_told(settings: Settings) -> None:
    clock = StepClock()
    core = opened(settings, clock)
    backups = core.backups
    assert backups is not None
    assert backups.trouble() == "No backup was made yet."
    make_due(core)
    before = made(settings)
    assert backups.trouble() == ""
    clock.advance(2 * DAY)
    assert "one is due every 1 day" in backups.trouble()
    folder = settings.backups_path()
    folder.rename(folder.with_name("aside"))
    folder.write_text("in the way")
    with pytest.raises(StoreUnavailable):
        make_due(core)
    assert backups.trouble() == "Backups fail: the log says why."
    folder.unlink()
    folder.with_name("aside").rename(folder)
    assert made(settings) == before
    make_due(core)
    assert backups.trouble() == ""
    core.close()


def write_and_die(path: str) -> None:
    with placed(Path(path)) as draft:
        draft.write_bytes(b"A secret of hers.")
        draft.with_name(f"{draft.name}-journal").touch()
        os.kill(os.getpid(), signal.SIGKILL)


def written_ago(files: Iterable[Path], ago: timedelta) -> None:
    for file in files:
        file.touch()
        os.utime(file, (time.time() - ago.total_seconds(),) * 2)


def test_what_a_killed_process_left_is_removed_by_a_later_backup(settings: Settings) -> None:
    folder = settings.backups_path()
    process = CONTEXT.Process(target=write_and_die, args=(str(folder / "memorist-20260101T000000Z-0123abcd.db"),))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    left = list(folder.iterdir())
    assert len(left) == 2
    # In a container every process may have the same number.
    left.append(folder / f".memorist-20260102T000000Z-0123abcd.db.{os.getpid()}")
    written_ago(left, timedelta(hours=2))
    written_ago([folder / f".memorist-20260103T000000Z-0123abcd.db.{os.getppid()}"], 2 * DAY)
    alive = folder / f".memorist-20260104T000000Z-0123abcd.db.{os.getppid()}"
    written_ago([alive], timedelta(hours=2))
    # One in another container is not seen here, and works: the log of what it makes was just written to.
    elsewhere = [folder / f".memorist-2026010{day}T000000Z-0123abcd.db.{process.pid}" for day in (6, 7)]
    elsewhere.append(folder / f".memorist-20260108T000000Z-0123abcd.db.{os.getpid()}")
    log = folder / f"{elsewhere[0].name}-wal"
    written_ago(elsewhere[:1], timedelta(hours=2))
    written_ago([*elsewhere[1:], log], timedelta(minutes=30))
    strange = [folder / f".notes.db.{process.pid}", folder / ".memorist.db.x"]
    written_ago(strange, 2 * DAY)
    core = opened(settings, StepClock())
    with placed(folder / "memorist-20260105T000000Z-0123abcd.db") as draft:
        make_due(core)
        others = {one.name for one in (alive, *elsewhere, log, *strange, draft)}
        assert {one.name for one in folder.iterdir()} == {*others, *made(settings)}
    assert len(made(settings)) == 2
    core.close()


def test_databases_that_share_a_folder_have_backups_of_their_own(settings: Settings, tmp_path: Path) -> None:
    clock = StepClock()
    own = opened(settings, clock)
    make_due(own)
    (of_own,) = backups_in(settings.backups_path())
    # One that was made elsewhere, and a copy of the first.
    shutil.copy(of_own, tmp_path / "copy.db")
    others = [opened(replace(settings, database=str(tmp_path / name)), clock) for name in ("other.db", "copy.db")]
    for other in others:
        assert other.backups is not None
        assert other.backups.trouble() == "No backup was made yet."
        make_due(other)
        assert other.backups.trouble() == ""
    assert len(made(settings)) == 3
    for _ in range(60):
        clock.advance(DAY)
        make_due(others[0])
    assert [len(moments_of(one)) for one in (own, others[1])] == [1, 1]
    for one in (own, *others):
        one.close()


def test_backups_that_are_moved_with_their_database_are_its_own(tmp_path: Path) -> None:
    before, after = (
        Settings(data=tmp_path / name, embedder="off", reranker="off", backup_every_hours=24.0) for name in "ab"
    )
    clock = StepClock()
    core = opened(before, clock)
    make_due(core)
    core.close()
    (tmp_path / "a").rename(tmp_path / "b")
    core = opened(after, clock)
    make_due(core)
    assert len(made(after)) == 1
    core.close()


def test_clock_that_was_ahead_keeps_no_backup_from_being_made(settings: Settings) -> None:
    clock = StepClock()
    core = opened(settings, clock)
    clock.advance(365 * DAY)
    make_due(core)
    clock.advance(-365 * DAY)
    make_due(core)
    assert len(made(settings)) == 2
    core.close()


def test_clock_that_was_ahead_makes_none_too_early_and_hides_none_that_is_missed(settings: Settings) -> None:
    clock = StepClock()
    core = opened(settings, clock)
    assert core.backups is not None
    clock.advance(365 * DAY)
    make_due(core)
    clock.advance(-365 * DAY)
    make_due(core)
    clock.advance(DAY / 4)
    assert make_due(core) <= (3 * DAY / 4).total_seconds()
    assert len(made(settings)) == 2
    assert core.backups.trouble() == ""
    clock.advance(2 * DAY)
    assert "The last backup is of 2026-" in core.backups.trouble()
    core.close()


def test_server_makes_them_in_the_background(settings: Settings) -> None:
    core = open_core(settings)
    core.start()
    try:
        eventually(lambda: bool(made(settings)))
    finally:
        core.close()


def test_they_are_off_unless_asked_for(own_sqlite_url: str) -> None:
    core = open_core(bare(own_sqlite_url), background=False)
    assert core.backups is None
    core.close()


def test_drill_restores_and_finds_the_rows(settings: Settings) -> None:
    core = opened(settings, StepClock())
    core.memories.remember(ADA, [Draft("One."), Draft("Two.")])
    make_due(core)
    core.close()
    (path,) = backups_in(settings.backups_path())
    before = path.read_bytes()
    drill = verify_backup(settings, path)
    assert drill.ok
    assert drill.rows["memories"] == 2
    assert (drill.erased_since, drill.left) == (0, 0)
    assert path.read_bytes() == before


def test_drill_finds_damage_and_rows_that_do_not_agree(settings: Settings, tmp_path: Path) -> None:
    core = opened(settings, StepClock())
    core.memories.remember(ADA, [Draft("One.")])
    make_due(core)
    core.close()
    (path,) = backups_in(settings.backups_path())
    connection = apsw.Connection(str(path))
    connection.execute("DELETE FROM memory_events")
    connection.close()
    drill = verify_backup(settings, path)
    assert not drill.ok
    assert "0 created events" in drill.findings["tenant t"]
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xff" * 4096 + content[12288:])
    with pytest.raises(StoreCorrupt):
        verify_backup(settings, path)
    with pytest.raises(StoreUnavailable):
        verify_backup(settings, tmp_path / "none.db")


def test_person_erased_since_is_told_and_erased_again_by_restoring(settings: Settings) -> None:
    core = opened(settings, StepClock(START))
    core.memories.remember(ADA, [Draft("A secret of hers.")])
    make_due(core)
    receipt = core.erasure.purge_user(ADMIN, ADA.user)
    core.close()
    assert any("backups that this server made on its schedule" in one for one in receipt.remains)
    (path,) = backups_in(settings.backups_path())
    assert b"A secret of hers." in path.read_bytes()
    drill = verify_backup(settings, path)
    assert drill.ok
    assert (drill.erased_since, drill.left, drill.rows["memories"]) == (1, 0, 0)
