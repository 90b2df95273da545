"""Disks that are full or read-only, files that are no database, servers that are not there: each has its own error."""

import os
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from memorist.bootstrap import open_core, open_store
from memorist.core import Core
from memorist.errors import Conflict, MemoristError, StoreBusy, StoreCorrupt, StoreFull, StoreReadOnly, StoreUnavailable
from memorist.memories.values import Draft
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from memorist.testing import new_tenant
from tests.support.jobs import become, use_read_only
from tests.support.postgres import PASSWORD_DATABASE, Postgres, few_partitions
from tests.support.processes import in_process
from tests.support.stores import bare
from tests.torture.faulty_disk import inserted

ADA = Principal("t", Role.USER, "ada")
NOBODY = 65534


def remember(core: Core, text: str) -> str:
    return core.memories.remember(ADA, [Draft(text)])[0].memory.id


def stored(core: Core, ids: list[str]) -> set[str]:
    return {memory.id for memory in core.store.read("t", lambda tx: tx.memories.get_many(ids))}


# SQLite: permissions


@pytest.fixture
def reachable(tmp_path: Path) -> Path:
    """A folder that every user may enter."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o755)
    return tmp_path


@pytest.fixture
def read_only(reachable: Path) -> Iterator[Path]:
    """A database that only its owner may write, and others may read."""
    path = reachable / "memorist.db"
    core = open_core(bare(str(path)))
    core.identity.create_tenant("t")
    remember(core, "still here")
    core.close()
    path.chmod(0o444)
    before = path.read_bytes()
    yield path
    assert path.read_bytes() == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user who may not write")
def test_file_that_may_not_be_written_can_be_read_and_says_why_not_written(read_only: Path) -> None:
    read_only.parent.chmod(0o777)
    said = in_process(use_read_only, str(read_only), NOBODY)
    assert "'integrity_check': 'ok'" in said.pop("check")
    assert said == {"core": "ok", "read": "ok", "write": "StoreReadOnly"}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user who may not write")
def test_file_in_a_folder_that_may_not_be_written_says_so(read_only: Path) -> None:
    assert in_process(use_read_only, str(read_only), NOBODY) == {"core": "StoreReadOnly", "store": "StoreReadOnly"}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user who may not enter")
def test_folder_that_may_not_be_entered_is_unavailable(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    assert in_process(_open_as, str(closed / "sub" / "memorist.db"), NOBODY) == "StoreUnavailable"


def _open_as(path: str, uid: int) -> str:
    become(uid)
    return _error_of(path)


def _error_of(path: str) -> str:
    try:
        open_core(bare(path)).close()
    except MemoristError as error:
        return type(error).__name__
    return "ok"


# SQLite: no such place


def test_path_below_a_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreUnavailable, match="cannot be made"):
        open_core(bare(str(tmp_path / "file" / "memorist.db")))


def test_path_that_is_a_folder_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        open_core(bare(str(tmp_path)))


@pytest.mark.parametrize("content", [b"This is a diary, not a database. " * 100, os.urandom(8192)])
def test_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memorist.db"
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="no Memorist database"):
        open_core(bare(str(path)))
    assert path.read_bytes() == content


def test_damaged_database_is_found_by_the_check(tmp_path: Path) -> None:
    path = tmp_path / "memorist.db"
    core = open_core(bare(str(path)))
    core.identity.create_tenant("t")
    core.memories.remember(ADA, [Draft(f"some text that fills a page {number} " * 50) for number in range(200)])
    core.close()
    content = bytearray(path.read_bytes())
    for start in range(len(content) // 2, len(content) - 4096, 4096):
        content[start : start + 200] = b"\xff" * 200
    path.write_bytes(bytes(content))
    store = open_store(bare(str(path)))
    try:
        findings = store.check()
    except StoreCorrupt:
        return
    finally:
        store.close()
    assert set(findings.values()) != {"ok"}


def test_file_locked_by_another_for_too_long_is_busy(tmp_path: Path) -> None:
    url = str(tmp_path / "memorist.db")
    one = open_core(bare(url, busy_timeout_ms=50))
    two = open_core(bare(url, busy_timeout_ms=50))
    one.identity.create_tenant("t")

    def while_locked(_: object) -> type[BaseException]:
        with pytest.raises(StoreBusy) as caught:
            remember(two, "not now")
        return caught.type

    assert one.store.write("t", while_locked) is StoreBusy
    assert stored(two, [remember(two, "now")])
    one.close()
    two.close()


# SQLite: a full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one and a half megabytes."""
    mount = tmp_path / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", str(mount)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine does not let the tests mount a small disk; the next test limits the file instead")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def fill(core: Core, threads: int = 4) -> tuple[list[str], list[MemoristError]]:
    """Write from several threads until each of them is refused; return what was acknowledged and the refusals."""
    acknowledged: list[str] = []

    def write(thread: int) -> MemoristError:
        for number in range(10_000):
            try:
                acknowledged.append(remember(core, f"{thread} {number} {os.urandom(1000).hex()}"))
            except MemoristError as error:
                return error
        raise AssertionError("the disk never filled up")

    with ThreadPoolExecutor(threads) as pool:
        return acknowledged, list(pool.map(write, range(threads)))


def test_full_disk_loses_nothing_and_is_usable_again_once_there_is_space(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(400_000))
    url = str(small_disk / "memorist.db")
    core = open_core(bare(url))
    core.identity.create_tenant("t")
    acknowledged, refusals = fill(core)
    assert {type(refusal) for refusal in refusals} == {StoreFull}
    assert stored(core, acknowledged) == set(acknowledged)
    ballast.unlink()
    acknowledged.append(remember(core, "there is space again"))
    assert stored(core, acknowledged) == set(acknowledged)
    assert set(core.store.check().values()) == {"ok"}
    core.close()
    again = open_core(bare(url))
    assert stored(again, acknowledged) == set(acknowledged)
    again.close()


def test_file_at_its_largest_loses_nothing_and_goes_on_when_it_may_grow(sqlite_url: str) -> None:
    core = open_core(bare(sqlite_url))
    core.identity.create_tenant("t")
    writer = core.store.driver._writer
    pages = writer.pragma("page_count")
    writer.pragma("max_page_count", pages + 40)
    acknowledged, refusals = fill(core)
    assert {type(refusal) for refusal in refusals} == {StoreFull}
    assert acknowledged
    assert stored(core, acknowledged) == set(acknowledged)
    writer.pragma("max_page_count", pages + 400)
    acknowledged.append(remember(core, "there is space again"))
    assert stored(core, acknowledged) == set(acknowledged)
    assert set(core.store.check().values()) == {"ok"}
    core.close()


def test_first_recall_on_a_full_disk_answers(small_disk: Path) -> None:
    settings = bare(str(small_disk / "memorist.db"))
    with closing(open_core(settings)) as core:
        core.identity.create_tenant("t")
        remember(core, "the harbour is closed on Sundays")
        core.store.set_index_model("t", "")
    with closing(open_core(settings)) as core:
        with (small_disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
            while True:
                ballast.write(bytes(4096))
        with pytest.raises(StoreFull):
            remember(core, "there is no space for this")
        found = core.recall.recall(ADA, Question("harbour"))
        assert [hit.memory.content for hit in found.hits] == ["the harbour is closed on Sundays"]
        (small_disk / "ballast").unlink()
        remember(core, "there is space again")


@pytest.mark.parametrize("is_linked", [False, True])
def test_database_that_has_no_room_to_be_opened_is_told_as_that(
    small_disk: Path, tmp_path: Path, is_linked: bool
) -> None:
    settings = bare(str(small_disk / "memorist.db"))
    open_core(settings).close()
    if is_linked:
        (tmp_path / "link.db").symlink_to(small_disk / "memorist.db")
        settings = bare(str(tmp_path / "link.db"))
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    with pytest.raises(StoreFull):
        open_core(settings)
    ballast.unlink()
    with closing(open_core(settings)) as core:
        assert "nearly full" in core.store.trouble()


def test_database_on_a_disk_that_cannot_be_written_is_told_as_that(small_disk: Path) -> None:
    settings = bare(str(small_disk / "memorist.db"))
    open_core(settings).close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StoreReadOnly):
        open_core(settings)


def test_too_full_to_begin_is_said_at_once(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(1_536_000))
    with pytest.raises(StoreFull):
        open_core(bare(str(small_disk / "memorist.db")))


def test_close_on_a_disk_that_fails_is_told_and_loses_nothing(sqlite_url: str) -> None:
    open_core(bare(sqlite_url)).close()
    with inserted() as disk:
        core = open_core(bare(sqlite_url), background=False)
        core.identity.create_tenant("t")
        kept = remember(core, "still here")
        disk.due = lambda: True
        with pytest.raises(StoreUnavailable):
            core.close()
    with closing(open_core(bare(sqlite_url))) as core:
        assert stored(core, [kept]) == {kept}


# PostgreSQL: not there, not ours, gone


def test_closed_port_is_unavailable() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        with pytest.raises(StoreUnavailable, match=r"PostgreSQL says: .*refused") as caught:
            open_core(bare(f"postgresql://ada:secret@127.0.0.1:{port}/memorist", pool_timeout_s=1))
    assert caught.value.message.startswith(f"postgresql://ada:********@127.0.0.1:{port}/memorist: ")


def test_wrong_password_is_unavailable_and_not_repeated(postgres: Postgres, postgres_template: str) -> None:
    name = postgres.create_database(PASSWORD_DATABASE, template=postgres_template)
    open_core(bare(postgres.url(name))).close()
    if postgres.trusts_everybody(name):
        pytest.skip("the server that MEMORIST_TEST_DATABASE_URL names asks for no password")
    with pytest.raises(StoreUnavailable, match="password authentication failed") as caught:
        open_core(bare(postgres.url(name, password="hunter2")))
    assert "hunter2" not in str(caught.value)
    postgres.drop_database(name)


def test_missing_database_is_unavailable(postgres: Postgres) -> None:
    with pytest.raises(StoreUnavailable, match="does not exist"):
        open_core(bare(postgres.url("no_such_database")))


def test_database_dropped_while_running_is_unavailable_and_comes_back(
    postgres: Postgres, postgres_template: str
) -> None:
    name = postgres.create_database(template=postgres_template)
    core = open_core(bare(postgres.url(name), pool_timeout_s=1))
    core.identity.create_tenant("t")
    remember(core, "before")
    postgres.drop_database(name)
    for call in (lambda: remember(core, "after"), core.store.ping, lambda: core.memories.list(ADA)):
        with pytest.raises(StoreUnavailable):
            call()
    postgres.create_database(name)
    with few_partitions():
        again = open_core(bare(postgres.url(name)))
    again.identity.create_tenant("t")
    assert stored(again, [remember(again, "after")])
    again.close()
    core.close()
    postgres.drop_database(name)


def test_database_that_only_reads_says_so(postgres: Postgres, own_postgres: str) -> None:
    url = postgres.url(own_postgres)
    core = open_core(bare(url, pool_size=1))
    core.identity.create_tenant("t")
    kept = remember(core, "before")
    postgres.execute("ALTER DATABASE {} SET default_transaction_read_only = on", own_postgres)
    postgres.terminate_connections(own_postgres)
    with pytest.raises(MemoristError) as caught:
        remember(core, "after")
    assert caught.value.code == "store_read_only"
    assert stored(core, [kept]) == {kept}
    postgres.execute("ALTER DATABASE {} RESET default_transaction_read_only", own_postgres)
    postgres.terminate_connections(own_postgres)
    assert stored(core, [remember(core, "after")])
    core.close()


def test_name_taken_meanwhile_is_a_conflict_on_both(database_url: str) -> None:
    core = open_core(bare(database_url))
    principal = Principal(core.identity.create_tenant(new_tenant())[0].id, Role.USER, "ada")
    core.memories.remember(principal, [Draft("one", name="deploy")])
    with pytest.raises(Conflict):
        core.memories.remember(principal, [Draft("two", name="deploy")])
    core.close()
