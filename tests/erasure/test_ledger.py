"""The ledger: neither an import nor a restored backup brings back what was erased."""

import errno
import json
import os
import random
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import apsw
import pytest

from memorist.bootstrap import create_backup, open_core, restore_backup
from memorist.core import Core
from memorist.erasure.ledger import ledger_lines, receipt_from_record, receipt_to_record
from memorist.erasure.values import Erased, ErasureKind, ErasureStatus, Verification
from memorist.errors import Conflict, InvalidField, StoreBusy, StoreCorrupt, StoreUnavailable
from memorist.ids import new_id
from memorist.memories import writing
from memorist.memories.policy import Derived
from memorist.memories.values import Draft, Kind, Memory
from memorist.platform.erased_names import MEMORY, hexadecimal
from memorist.platform.values import Event, Owner, Principal, Role
from memorist.ports import Writer
from memorist.settings import Settings
from memorist.store import backups
from memorist.testing import make_event, make_memory, make_receipt, new_tenant
from memorist.testing.clocks import START
from tests.erasure.plant import Planter, plant_key
from tests.support.stores import bare, bytes_in

Held = Callable[[Iterable[str]], set[str]]
Remember = Callable[..., Memory]


def imported(core: Core, principal: Principal, lines: Iterable[str]) -> dict[str, int]:
    *_, report = core.transfer.import_(principal, lines)
    return {"imported": report.imported, "erased": report.erased, "conflicting": report.conflicting}


# Imports


def test_import_does_not_bring_back_what_was_erased(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Remember
) -> None:
    one, two = remember(ada, "one of two"), remember(ada, "two of two")
    remember(bob, "of bob")
    core.ingestion.add_document(ada, title="cv", content="born, went to school", document_id="ada-cv", shared=False)
    export = list(core.transfer.export(admin))
    core.erasure.erase(ada, [one.id])
    assert imported(core, admin, export) == {"imported": 0, "erased": 1, "conflicting": 0}
    core.erasure.purge_user(ada)
    # Two facts, the document and its only chunk.
    assert imported(core, admin, export) == {"imported": 0, "erased": 4, "conflicting": 0}
    assert core.memories.list(ada).items == ()
    assert core.ingestion.list_documents(ada).items == ()
    core.erasure.reset(bob)
    assert imported(core, admin, export) == {"imported": 1, "erased": 4, "conflicting": 0}
    assert two.id not in "".join(core.transfer.export(admin))


def test_import_brings_no_copy_of_what_was_erased(
    core: Core, ada: Principal, admin: Principal, remember: Remember
) -> None:
    fact = remember(ada, "what a tool repeated")
    before = len(list(core.transfer.export(admin)))
    core.ingestion.add_tool_output(
        ada, "s", tool_call_id="call", tool_name="recall", content="what a tool repeated, again", quotes=[fact.id]
    )
    export = list(core.transfer.export(admin))
    (copy,) = (line for line in export if "again" in line)
    core.erasure.erase(ada, [fact.id])
    # A copy that was made elsewhere has an id that nothing was erased under.
    elsewhere = copy.replace(json.loads(copy)["memory"]["id"], new_id("mem"))
    assert len(export) == before + 1
    assert imported(core, admin, [export[0], elsewhere]) == {"imported": 0, "erased": 1, "conflicting": 0}


def test_import_brings_no_trace_of_what_was_erased(core: Core, ada: Principal, admin: Principal) -> None:
    """What came of it, what it was replaced by and what was judged of it names it as little as after an erasure."""
    gone, kept = make_memory(ada.tenant), new_id("mem")
    derived = make_memory(
        ada.tenant, id=kept, source_ref=gone.id, superseded_by=gone.id, excerpt="a quote", meta={"message_id": gone.id}
    )
    judged = Event(kept, "judged", "judge", START, payload={"other": gone.id, "reason": "it says Quagmireville"})
    for memory in (gone, derived):
        core.store.write(ada.tenant, partial(insert_with_event, memory))
    core.store.write(ada.tenant, lambda tx: tx.events.append([judged]))
    export = list(core.transfer.export(admin))
    receipt = core.erasure.erase(ada, [gone.id])
    core.erasure.reset(ada)
    assert imported(core, admin, export) == {"imported": 1, "erased": 1, "conflicting": 0}
    assert core.erasure.verifier.verify(receipt).ok
    after = "".join(core.transfer.export(admin))
    assert kept in after
    assert all(word not in after for word in (gone.id, "Quagmireville", "a quote"))


@pytest.mark.parametrize(("kind", "kept"), [(ErasureKind.MEMORIES, 0), (ErasureKind.RETENTION, 2)])
def test_import_brings_no_fact_learned_from_what_was_erased_where_these_go_too(
    core: Core, ada: Principal, admin: Principal, kind: ErasureKind, kept: int
) -> None:
    source = make_memory(ada.tenant, kind=Kind.CHAT_MESSAGE)
    fact = make_memory(ada.tenant, content="learned", source_ref=source.id)
    further = make_memory(ada.tenant, content="learned of that", meta={"from": [fact.id]})
    for memory in (source, fact, further):
        core.store.write(ada.tenant, partial(insert_with_event, memory))
    export = list(core.transfer.export(admin))
    core.erasure.reset(ada)
    core.policies.change(admin, {"derived_facts": Derived.ERASE})
    receipt = make_receipt(ada.tenant, kind=kind, status=ErasureStatus.DONE)
    gone = Erased(MEMORY, hexadecimal(source.id), "", receipt.id, START)
    core.store.write(ada.tenant, lambda tx: (tx.receipts.insert(receipt), tx.ledger.insert([gone])))
    *_, told = core.transfer.preview(admin, export)
    assert (told.imported, told.erased) == (kept, 3 - kept)
    assert imported(core, admin, export) == {"imported": kept, "erased": 3 - kept, "conflicting": 0}


def test_import_brings_no_purged_user_back(core: Core, ada: Principal, admin: Principal, remember: Remember) -> None:
    """Under whichever ids; but what the user wrote since comes back."""
    elsewhere = replace(admin, tenant=core.identity.create_tenant(new_tenant())[0].id)
    there = replace(ada, tenant=elsewhere.tenant)
    remember(there, "as kept elsewhere")
    core.ingestion.add_document(there, title="cv", content="born, went to school", document_id="cv", shared=False)
    of_bob = make_memory(elsewhere.tenant, owner=Owner("bob"))
    core.store.write(elsewhere.tenant, partial(insert_with_event, of_bob))
    export = list(core.transfer.export(elsewhere))
    assert '"actor": "ada"' in "".join(export)
    remember(ada, "one")
    core.erasure.purge_user(ada)
    *_, told = core.transfer.preview(admin, export)
    # The fact, the document and its chunk.
    assert (told.imported, told.erased) == (1, 3)
    assert imported(core, admin, export) == {"imported": 1, "erased": 3, "conflicting": 0}
    assert core.memories.list(ada).items == ()
    assert '"actor": "ada"' not in "".join(core.transfer.export(admin))
    remember(there, "since")
    assert imported(core, admin, core.transfer.export(elsewhere)) == {"imported": 1, "erased": 3, "conflicting": 0}
    assert [one.content for one in core.memories.list(ada).items] == ["since"]


def insert_with_event(memory: Memory, tx: Writer) -> None:
    writing.insert(tx, memory)
    tx.events.append([make_event(memory, actor="ada")])


def test_ledger_is_of_one_tenant(core: Core, ada: Principal, admin: Principal, remember: Remember) -> None:
    remember(ada, "in both tenants")
    export = list(core.transfer.export(admin))
    core.erasure.purge_user(ada)
    other = Principal(core.identity.create_tenant(new_tenant())[0].id, Role.ADMIN)
    assert imported(core, other, export) == {"imported": 1, "erased": 0, "conflicting": 0}
    # What lives there is no proof against what was done here.
    (receipt,) = core.erasure.receipts(ada)
    assert core.erasure.verifier.verify(receipt).ok


# A ledger as a file


def test_ledger_is_applied_to_another_database(
    core: Core, ada: Principal, bob: Principal, admin: Principal, tmp_path: Path, rng: random.Random
) -> None:
    """Where the other one is a copy from before: by ids, by documents and by users."""
    other = open_core(bare(str(tmp_path / "other" / "memorist.db")))
    other.identity.create_tenant(ada.tenant)
    planter = Planter(rng)
    planter.everywhere(core, ada, 100)
    Planter(rng).everywhere(core, bob, 60)
    of_bob = core.memories.list(bob, every_agent=True, kind=Kind.FACT).items[0]
    imported(other, admin, core.transfer.export(admin))
    Planter.everywhere(planter, other, ada, len(planter.markers) + 50)
    plant_key(other, planter, ada.tenant, "ada")
    core.erasure.erase(bob, [of_bob.id])
    core.erasure.purge_user(admin, "ada", keys=True)
    before = list(other.transfer.export(bob))[:-1]

    lines = list(ledger_lines(core.store, ada.tenant))
    applied = other.erasure.apply(lines)

    assert len(applied) == 2
    content = bytes_in(tmp_path / "other")
    assert [marker for marker in planter.markers if marker.encode() in content] == []
    after = list(other.transfer.export(bob))[:-1]
    assert [line for line in before if line not in after] == [line for line in before if of_bob.id in line]
    assert other.erasure.receipts(admin) == core.erasure.receipts(admin)
    assert all(other.erasure.verifier.verify(receipt).ok for receipt in other.erasure.receipts(admin))
    assert other.erasure.apply(lines) == []
    other.close()


@pytest.mark.parametrize("again", ["apply", "resume"])
def test_ledger_is_not_applied_before_the_files_are_scrubbed(
    live: Core, sqlite_url: str, tmp_path: Path, again: str
) -> None:
    live.memories.remember(ADA, [Draft("erased after the copy")])
    copy = tmp_path / "copy" / "memorist.db"
    create_backup(settings_of(sqlite_url), copy)
    receipt = live.erasure.purge_user(ADA)
    lines = list(ledger_lines(live.store))
    other = open_core(bare(str(copy), busy_timeout_ms=50), background=False)
    reader = apsw.Connection(str(copy))
    reader.execute("BEGIN; SELECT count(*) FROM memories").fetchall()
    with pytest.raises(StoreBusy):
        other.erasure.apply(lines)
    reader.close()
    assert other.erasure.get(ADA, receipt.id).status is ErasureStatus.SCRUBBING
    assert b"erased after the copy" in bytes_in(copy.parent)
    done = other.erasure.apply(lines) if again == "apply" else other.erasure.resume()
    assert [one.id for one in done] == [receipt.id]
    assert b"erased after the copy" not in bytes_in(copy.parent)
    found = other.erasure.get(ADA, receipt.id)
    assert found.status is ErasureStatus.DONE
    assert (found == receipt) is (again == "apply")
    assert found.verification is not None
    assert found.verification.ok
    assert other.erasure.apply(lines) == other.erasure.resume() == []
    other.close()


def test_ledger_says_nothing_about_anybody(core: Core, ada: Principal, rng: random.Random) -> None:
    planter = Planter(rng)
    planter.everywhere(core, ada, 60)
    core.erasure.purge_user(ada)
    lines = list(ledger_lines(core.store, ada.tenant))
    assert not any(marker in line for marker in planter.markers for line in lines)
    assert not any('"ada"' in line for line in lines)


def test_receipt_of_an_earlier_version_is_read_without_what_it_told_of_others(tenant: str) -> None:
    receipt = make_receipt(tenant, request=None, verification=Verification(ok=True, checked_at=START, samples=3))
    record = receipt_to_record(receipt)
    assert receipt_from_record({**record, "verification": {**record["verification"], "samples_shared": 2}}) == receipt


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", '{"receipt": {}}', '{"tenant": "t", "receipt": {"id": "x"}}', '{"format": "other"}']
)
def test_what_is_no_ledger_is_refused(core: Core, line: str) -> None:
    header = json.dumps({"format": "memorist-ledger", "version": 1})
    with pytest.raises(InvalidField, match=r"Line [12] of the ledger"):
        core.erasure.apply([line] if "format" in line else [header, line])


# Backups


@pytest.fixture
def live(sqlite_url: str) -> Iterator[Core]:
    core = open_core(bare(sqlite_url))
    core.identity.create_tenant("t")
    yield core
    core.close()


ADA, BOB = Principal("t", Role.USER, "ada"), Principal("t", Role.USER, "bob")


def settings_of(url: str) -> Settings:
    return bare(url)


def test_restored_backup_has_everything_but_what_was_erased_since(
    live: Core, sqlite_url: str, tmp_path: Path, rng: random.Random
) -> None:
    gone, kept = Planter(rng), Planter(rng)
    gone.everywhere(live, ADA, 80)
    kept.everywhere(live, BOB, 80)
    backup = tmp_path / "backup.db"
    create_backup(settings_of(sqlite_url), backup)
    assert backup.stat().st_mode & 0o077 == 0
    exported = list(live.transfer.export(BOB))
    assert gone.markers[0].encode() in backup.read_bytes()
    receipt = live.erasure.purge_user(ADA)
    live.erasure.reset(BOB)
    live.close()

    with pytest.raises(Conflict):
        restore_backup(settings_of(sqlite_url), backup)
    assert [one.id for one in restore_backup(settings_of(sqlite_url), backup, overwrite=True)] == [receipt.id]

    folder = Path(sqlite_url).parent
    content = b"".join(file.read_bytes() for file in folder.iterdir())
    assert [file.name for file in folder.iterdir()] == ["memorist.db"]
    assert [marker for marker in gone.markers if marker.encode() in content] == []
    restored = open_core(bare(sqlite_url))
    assert list(restored.transfer.export(BOB)) == exported
    assert restored.memories.list(ADA).items == ()
    assert restored.erasure.get(ADA, receipt.id).status is ErasureStatus.DONE
    assert set(restored.store.check().values()) == {"ok"}
    restored.close()


def test_backup_while_others_write_is_one_state(live: Core, sqlite_url: str, tmp_path: Path) -> None:
    """Each write is of two memories: a copy has both of a pair, or neither, and all that was acknowledged before."""
    stop = threading.Event()
    acknowledged: list[int] = []

    def write(worker: int) -> None:
        number = worker
        while not stop.is_set():
            live.memories.remember(ADA, [Draft(f"left {number}"), Draft(f"right {number}")])
            acknowledged.append(number)
            number += 2

    workers = [threading.Thread(target=write, args=(worker,)) for worker in range(2)]
    for worker in workers:
        worker.start()
    try:
        for number in range(5):
            before = list(acknowledged)
            create_backup(settings_of(sqlite_url), tmp_path / f"{number}.db")
            copy = open_core(bare(str(tmp_path / f"{number}.db")))
            texts = {json.loads(line)["memory"]["content"] for line in list(copy.transfer.export(ADA))[1:-1]}
            assert {text.replace("left", "right") for text in texts if "left" in text} == {
                text for text in texts if "right" in text
            }
            assert {f"left {number}" for number in before} <= texts
            assert set(copy.store.check().values()) == {"ok"}
            copy.close()
    finally:
        stop.set()
        for worker in workers:
            worker.join()


def test_database_in_use_is_not_replaced(live: Core, sqlite_url: str, tmp_path: Path) -> None:
    memory = live.memories.remember(ADA, [Draft("still here")])[0].memory
    backup = tmp_path / "backup.db"
    create_backup(settings_of(sqlite_url), backup)
    with pytest.raises(StoreBusy, match="Stop it first"):
        restore_backup(settings_of(sqlite_url), backup, overwrite=True)
    assert live.memories.get(ADA, memory.id).content == "still here"


def test_damaged_backup_changes_nothing(live: Core, sqlite_url: str, tmp_path: Path) -> None:
    live.memories.remember(ADA, [Draft(f"a text of some length, number {n}") for n in range(500)])
    backup = tmp_path / "backup.db"
    create_backup(settings_of(sqlite_url), backup)
    before = list(live.transfer.export(ADA))
    live.close()
    content = bytearray(backup.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4096] = b"\xff" * 4096
    backup.write_bytes(bytes(content))
    other = tmp_path / "other.db"
    apsw.Connection(str(other)).execute("CREATE TABLE x (y)").fetchall()
    (tmp_path / "diary").write_text("dear diary")
    for path, error in (
        (backup, StoreCorrupt),
        (other, StoreCorrupt),
        (tmp_path / "diary", StoreCorrupt),
        (tmp_path / "nowhere", StoreUnavailable),
    ):
        with pytest.raises(error):
            restore_backup(settings_of(sqlite_url), path, overwrite=True)
    again = open_core(bare(sqlite_url))
    assert list(again.transfer.export(ADA)) == before
    again.close()
    assert sorted(file.name for file in Path(sqlite_url).parent.iterdir()) == ["memorist.db"]


@pytest.fixture
def while_copying(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Have something done when a backup was copied, and is not in its place yet."""

    def meanwhile(work: Callable[[], None]) -> None:
        copy = backups.copy_checked
        monkeypatch.setattr(backups, "copy_checked", lambda backup, draft: (copy(backup, draft), work()))

    return meanwhile


def test_nobody_opens_a_database_while_it_is_replaced(
    live: Core, sqlite_url: str, tmp_path: Path, while_copying: Callable[[Callable[[], None]], None]
) -> None:
    live.memories.remember(ADA, [Draft("in the backup")])
    create_backup(settings_of(sqlite_url), tmp_path / "backup.db")
    live.close()
    refused: list[StoreBusy] = []

    def open_meanwhile() -> None:
        with pytest.raises(StoreBusy) as error:
            open_core(bare(sqlite_url, busy_timeout_ms=50))
        refused.append(error.value)

    while_copying(open_meanwhile)
    restore_backup(settings_of(sqlite_url), tmp_path / "backup.db", overwrite=True)
    assert len(refused) == 1
    again = open_core(bare(sqlite_url))
    assert [one.content for one in again.memories.list(ADA).items] == ["in the backup"]
    again.close()


def test_restoring_through_a_link_replaces_what_it_leads_to(live: Core, sqlite_url: str, tmp_path: Path) -> None:
    create_backup(settings_of(sqlite_url), tmp_path / "backup.db")
    live.memories.remember(ADA, [Draft("told after the backup")])
    live.close()
    link = tmp_path / "link.db"
    link.symlink_to(sqlite_url)
    restore_backup(settings_of(str(link)), tmp_path / "backup.db", overwrite=True)
    assert link.is_symlink()
    assert b"told after the backup" not in Path(sqlite_url).read_bytes()


@pytest.fixture
def while_syncing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Have something done at the last moment, when the restored file is brought to the disk."""

    def meanwhile(work: Callable[[], None]) -> None:
        sync = os.fsync

        def working(file: int) -> None:
            monkeypatch.setattr(backups.os, "fsync", sync)
            work()
            sync(file)

        monkeypatch.setattr(backups.os, "fsync", working)

    return meanwhile


@pytest.mark.usefixtures("live")
@pytest.mark.parametrize("has_links", [True, False])
@pytest.mark.parametrize("moment", ["while_copying", "while_syncing"])
def test_database_that_was_made_while_another_was_restored_there_stays(
    sqlite_url: str,
    tmp_path: Path,
    moment: str,
    has_links: bool,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create_backup(settings_of(sqlite_url), tmp_path / "backup.db")
    elsewhere = bare(str(tmp_path / "new" / "memorist.db"))
    made: list[Core] = []

    def write_meanwhile() -> None:
        made.append(open_core(elsewhere))
        made[0].identity.create_tenant("t")
        made[0].memories.remember(ADA, [Draft("told meanwhile")])

    if not has_links:
        monkeypatch.setattr(backups.os, "link", refuse)
    request.getfixturevalue(moment)(write_meanwhile)
    with pytest.raises(Conflict, match="meanwhile"):
        restore_backup(elsewhere, tmp_path / "backup.db")
    made[0].close()
    again = open_core(elsewhere)
    assert [one.content for one in again.memories.list(ADA).items] == ["told meanwhile"]
    again.close()


def refuse(*_: object) -> None:
    raise PermissionError(errno.EPERM, "no links here")


@pytest.mark.parametrize("has_links", [True, False])
def test_database_is_restored_where_only_the_log_of_another_was_left(
    live: Core, sqlite_url: str, tmp_path: Path, has_links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.memories.remember(ADA, [Draft("in the backup")])
    create_backup(settings_of(sqlite_url), tmp_path / "backup.db")
    live.memories.remember(ADA, [Draft("told after the backup")])
    new = tmp_path / "new"
    new.mkdir()
    shutil.copy(f"{sqlite_url}-wal", new / "memorist.db-wal")
    if not has_links:
        monkeypatch.setattr(backups.os, "link", refuse)
    restore_backup(bare(str(new / "memorist.db")), tmp_path / "backup.db")
    assert [file.name for file in new.iterdir()] == ["memorist.db"]
    with closing(open_core(bare(str(new / "memorist.db")))) as again:
        assert [one.content for one in again.memories.list(ADA).items] == ["in the backup"]


def test_lost_database_is_restored_with_a_ledger(live: Core, sqlite_url: str, tmp_path: Path) -> None:
    memory = live.memories.remember(ADA, [Draft("erased after the backup")])[0].memory
    create_backup(settings_of(sqlite_url), tmp_path / "backup.db")
    live.erasure.erase(ADA, [memory.id])
    lines = list(ledger_lines(live.store))
    live.close()
    for file in Path(sqlite_url).parent.iterdir():
        file.unlink()
    assert len(restore_backup(settings_of(sqlite_url), tmp_path / "backup.db", ledger=lines)) == 1
    assert b"erased after the backup" not in Path(sqlite_url).read_bytes()
    # One that cannot be asked any more is replaced only where a ledger is named.
    Path(sqlite_url).write_bytes(b"not a database at all" * 500)
    with pytest.raises(StoreCorrupt, match="--ledger"):
        restore_backup(settings_of(sqlite_url), tmp_path / "backup.db", overwrite=True)
    assert len(restore_backup(settings_of(sqlite_url), tmp_path / "backup.db", ledger=lines, overwrite=True)) == 1


def test_postgres_is_backed_up_with_its_own_tools(postgres_url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="pg_dump"):
        create_backup(settings_of(postgres_url), tmp_path / "backup.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreUnavailable, match="memorist import"):
        restore_backup(settings_of(postgres_url), tmp_path / "backup.db")
