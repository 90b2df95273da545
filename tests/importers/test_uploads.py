"""Files that are sent to be imported: looked through, stored by a job once, and kept no longer than needed."""

import io
import json
import os
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memorist.core import Core
from memorist.errors import Forbidden, Invalid, NotFound, PayloadTooLarge, StoreUnavailable
from memorist.importers import service, uploads
from memorist.importers.service import Imports, outcome_from
from memorist.memories.values import Draft, Kind
from memorist.platform.jobs import Jobs
from memorist.platform.values import Job, JobStatus, Principal, Role
from memorist.times import from_iso
from memorist.transfer.values import IMPORTING, Chosen
from tests.importers import exports
from tests.support.waiting import eventually


@pytest.fixture
def imports(core: Core, tmp_path: Path) -> Imports:
    """Files go to a folder of the test's own, and jobs are done when the test says so."""
    jobs = Jobs(core.store, core.clock, {IMPORTING: lambda job: made.work(job)}, background=False)
    made = Imports(core.memories, core.transfer, jobs, tmp_path / "uploads")
    return made


def done(core: Core, imports: Imports, job: Job) -> Job:
    """The job, once it is done."""
    imports._jobs.run_due(job.tenant)
    return core.jobs.get(job.principal, job.id)


def own_export(core: Core, principal: Principal) -> bytes:
    return "".join(f"{line}\n" for line in core.transfer.export(principal)).encode()


def kept(folder: Path) -> list[str]:
    return [one.name for one in (folder / "uploads").glob("*")]


def test_file_is_looked_through_stored_once_and_gone(
    core: Core, imports: Imports, ada: Principal, tmp_path: Path
) -> None:
    content = exports.chatgpt(tmp_path / "chats.zip", "zip").read_bytes()
    seen = imports.take(ada, "chats.zip", io.BytesIO(content))
    assert (seen.outcome.source, seen.conversations, seen.documents) == ("chatgpt", 2, 0)
    assert (seen.outcome.imported, seen.outcome.already_there) == (8, 1)
    assert seen.examples[0] == "I live in Turin."
    assert seen.outcome.reasons["It has no text."] == 3
    assert core.memories.list(ada).items == ()
    job = imports.begin(ada, seen.upload.id)
    assert imports.begin(ada, seen.upload.id).id == job.id
    ended = done(core, imports, job)
    assert ended.status is JobStatus.DONE
    outcome = outcome_from(core.jobs.get(ada, job.id))
    assert (outcome.imported, outcome.already_there, outcome.reasons) == (8, 1, seen.outcome.reasons)
    assert outcome.seen == outcome.total == seen.outcome.total
    assert kept(tmp_path) == []
    again = imports.take(ada, "chats.zip", io.BytesIO(content))
    assert (again.outcome.imported, again.outcome.already_there) == (0, 9)


def test_own_export_is_compared_by_ids_names_and_ledger(core: Core, imports: Imports, ada: Principal) -> None:
    stay, gone, clash = (
        one.memory for one in core.memories.remember(ada, [Draft(text) for text in ("stays", "goes", "clashes")])
    )
    core.ingestion.add_document(ada, title="a.txt", content="words", media_type="text/plain", shared=False)
    content = own_export(core, ada)
    core.erasure.erase(ada, [gone.id])
    core.erasure.reset(ada)
    core.erasure.erase(ada, [one.memory.id for one in core.memories.remember(ada, [Draft("another")])])
    core.memories.remember(ada, [Draft("clashes")])
    seen = imports.take(ada, "mine.jsonl", io.BytesIO(content))
    assert (seen.outcome.source, seen.documents) == ("memorist", 1)
    assert set(seen.examples) == {"stays", "goes", "clashes", "words"}
    ended = outcome_from(done(core, imports, imports.begin(ada, seen.upload.id)))
    assert (ended.imported, ended.already_there, ended.reasons) == (
        seen.outcome.imported,
        seen.outcome.already_there,
        seen.outcome.reasons,
    )
    assert seen.outcome.reasons["Its name or text belongs to another memory here, or its document is newer here."] == 1
    assert core.memories.get(ada, stay.id).content == "stays"
    assert imports.take(ada, "mine.jsonl", io.BytesIO(content)).outcome.imported == 0
    assert clash.id != stay.id


BROKEN: dict[str, bytes] = {
    "empty.json": b"",
    "cut.json": b'[{"id": "1", "memory": "Tea", "user_id": "ada"}, {"id"',
    "picture.png": b"\x89PNG\r\n\x1a\n\xff\xfe",
    "notes.txt": b"Some words.",
    "mine.jsonl": b'{"format": "memorist-export", "version": 1}\nnonsense\n',
    "later.jsonl": b'{"format": "memorist-export", "version": 9}\n',
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_is_told_and_nothing_is_kept(
    core: Core, imports: Imports, ada: Principal, tmp_path: Path, name: str
) -> None:
    with pytest.raises(Invalid) as told:
        imports.take(ada, name, io.BytesIO(BROKEN[name]))
    assert str(tmp_path) not in told.value.message
    assert kept(tmp_path) == []
    assert core.memories.list(ada).items == ()


def test_damaged_and_swollen_archives_are_refused(
    imports: Imports, ada: Principal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytearray(exports.chatgpt(tmp_path / "chats.zip", "zip").read_bytes())
    content[60:90] = bytes(30)
    with pytest.raises(Invalid, match=r"cannot be read|is not whole JSON|no text"):
        imports.take(ada, "chats.zip", io.BytesIO(bytes(content)))
    monkeypatch.setattr(uploads, "_MOST_UNPACKED", 1000)
    with pytest.raises(PayloadTooLarge):
        imports.take(ada, "chats.zip", io.BytesIO(exports.chatgpt(tmp_path / "more.zip", "zip").read_bytes()))
    assert kept(tmp_path) == []


def lzma_archive(content: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("conversations.json", content)
    made = bytearray(target.getvalue())
    made[70] ^= 0xFF
    return bytes(made)


def archive_with_a_name_that_is_no_text(content: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("conversations.json", content)
        archive.writestr("Ünï.md", "text")
    return target.getvalue().replace("Ü".encode(), b"\xff\xfe")


@pytest.mark.parametrize("source", [None, "chatgpt"])
@pytest.mark.parametrize("damaged", [lzma_archive, archive_with_a_name_that_is_no_text])
def test_archive_that_cannot_be_unpacked_is_refused(
    imports: Imports, ada: Principal, tmp_path: Path, damaged: Callable[[bytes], bytes], source: str | None
) -> None:
    content = exports.chatgpt(tmp_path / "conversations.json", "file").read_bytes()
    with pytest.raises(Invalid, match="cannot be read"):
        imports.take(ada, "chats.zip", io.BytesIO(damaged(content)), source)
    assert kept(tmp_path) == []


def test_file_is_not_kept_whatever_goes_wrong(
    imports: Imports, ada: Principal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(imports, "_looked_through", fail)
    content = exports.chatgpt(tmp_path / "chats.zip", "zip").read_bytes()
    with pytest.raises(RuntimeError):
        imports.take(ada, "chats.zip", io.BytesIO(content))
    assert kept(tmp_path) == []


def test_archive_of_a_claude_folder_is_the_folder(imports: Imports, ada: Principal, tmp_path: Path) -> None:
    folder = exports.claude_folder(tmp_path / "memory")
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"memory/{file.name}")
    target.seek(0)
    seen = imports.take(ada, "memory.zip", target)
    assert (seen.outcome.source, seen.outcome.imported) == ("claude", 4)
    assert ("empty.md", "It has no text.") in seen.outcome.skipped


def test_named_source_is_taken_and_an_unknown_one_refused(imports: Imports, ada: Principal) -> None:
    rows = json.dumps([{"data": "Tea."}]).encode()
    with pytest.raises(Invalid, match="looks like a JSON list with 'data'"):
        imports.take(ada, "rows.json", io.BytesIO(rows))
    assert imports.take(ada, "rows.json", io.BytesIO(rows), "mem0").outcome.imported == 1
    with pytest.raises(Invalid, match="must be one of"):
        imports.take(ada, "rows.json", io.BytesIO(rows), "else")


def test_file_is_its_senders_alone_and_needs_an_owner(
    imports: Imports, ada: Principal, tenant: str, tmp_path: Path
) -> None:
    content = exports.mem0(tmp_path / "export.json").read_bytes()
    seen = imports.take(ada, "../../export.json", io.BytesIO(content))
    assert seen.upload.name == "_.._export.json"
    for other in (Principal(tenant, Role.USER, "bob"), Principal("other", Role.USER, "ada")):
        with pytest.raises(NotFound):
            imports.begin(other, seen.upload.id)
    with pytest.raises(Forbidden):
        imports.take(Principal(tenant, Role.READER, "ada"), "export.json", io.BytesIO(content))
    with pytest.raises(Invalid, match="need somebody whose they are"):
        imports.take(Principal(tenant, Role.ADMIN), "export.json", io.BytesIO(content))


def test_files_leave_after_a_day_with_their_user_and_when_there_are_many(
    imports: Imports, ada: Principal, tmp_path: Path
) -> None:
    def send(whose: Principal = ada) -> str:
        content = exports.mem0(tmp_path / "export.json").read_bytes()
        return imports.take(whose, "export.json", io.BytesIO(content)).upload.id

    sent = [send() for _ in range(6)]
    assert sorted(kept(tmp_path)) == sent[1:]
    old = time.time() - 2 * 86_400
    os.utime(tmp_path / "uploads" / sent[-1], (old, old))
    bob = send(Principal(ada.tenant, Role.USER, "bob"))
    assert sorted(kept(tmp_path)) == [*sent[1:-1], bob]
    imports.forget(ada.tenant, "ada")
    assert kept(tmp_path) == [bob]


def test_server_lets_go_of_them_while_it_runs(
    core: Core, ada: Principal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_TIDY_EVERY_S", 0.01)
    imports = Imports(core.memories, core.transfer, core.jobs, tmp_path / "uploads")
    imports.start()
    try:
        content = exports.mem0(tmp_path / "export.json").read_bytes()
        fresh, left = (imports.take(ada, "export.json", io.BytesIO(content)).upload.id for _ in range(2))
        old = time.time() - 2 * 86_400
        os.utime(tmp_path / "uploads" / left, (old, old))
        eventually(lambda: kept(tmp_path) == [fresh])
    finally:
        imports.close()


def test_import_that_begins_has_a_day_from_then_on(imports: Imports, ada: Principal, tmp_path: Path) -> None:
    content = exports.mem0(tmp_path / "export.json").read_bytes()
    sent = imports.take(ada, "export.json", io.BytesIO(content)).upload.id
    old = time.time() - 2 * 86_400
    os.utime(tmp_path / "uploads" / sent, (old, old))
    imports.begin(ada, sent)
    imports._uploads.tidy()
    assert kept(tmp_path) == [sent]


def test_erasing_a_user_removes_what_they_sent(core: Core, ada: Principal, tmp_path: Path) -> None:
    content = exports.mem0(tmp_path / "export.json").read_bytes()
    sent = core.imports.take(ada, "export.json", io.BytesIO(content)).upload.id
    core.erasure.purge_user(ada)
    with pytest.raises(NotFound):
        core.imports.begin(ada, sent)


def test_import_stops_where_its_job_was_dropped(core: Core, imports: Imports, ada: Principal, tmp_path: Path) -> None:
    content = exports.mem0(tmp_path / "export.json").read_bytes()
    job = imports.begin(ada, imports.take(ada, "export.json", io.BytesIO(content)).upload.id)
    (claimed,) = core.store.write(job.tenant, lambda tx: tx.jobs.claim(job.run_at, job.run_at, 1))
    core.jobs.drop(ada, job.id)
    with pytest.raises(Exception, match="was stopped"):
        imports.work(claimed)


def test_job_of_another_server_waits_for_it(core: Core, imports: Imports, ada: Principal, tmp_path: Path) -> None:
    content = exports.mem0(tmp_path / "export.json").read_bytes()
    job = imports.begin(ada, imports.take(ada, "export.json", io.BytesIO(content)).upload.id)
    elsewhere = Imports(core.memories, core.transfer, core.jobs, tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable):
        elsewhere.work(job)
    assert done(core, imports, job).status is JobStatus.DONE


def test_progress_is_told_where_everything_is_known(core: Core, imports: Imports, ada: Principal) -> None:
    rows = json.dumps([{"id": str(n), "memory": f"Note {n}.", "user_id": "ada"} for n in range(250)]).encode()
    done(core, imports, imports.begin(ada, imports.take(ada, "a.json", io.BytesIO(rows)).upload.id))
    noted: list[int] = []
    note = imports._jobs.note

    def counting(job: Job, so_far: Mapping[str, Any]) -> bool:
        noted.append(so_far["already_there"])
        return note(job, so_far)

    imports._jobs.note = counting  # type: ignore[method-assign]
    done(core, imports, imports.begin(ada, imports.take(ada, "a.json", io.BytesIO(rows)).upload.id))
    assert noted == [100, 200, 250]


def test_export_of_a_part_has_its_kinds_and_days(core: Core, ada: Principal) -> None:
    core.memories.remember(ada, [Draft("fact"), Draft("said", Kind.CHAT_MESSAGE, meta={"role": "user"})])
    core.ingestion.add_document(ada, title="a.txt", content="words", media_type="text/plain", shared=False)

    def texts(chosen: Chosen) -> list[Any]:
        rows = [json.loads(line) for line in list(core.transfer.export(ada, chosen))[1:-1]]
        return [row["memory"]["content"] if "memory" in row else row["document"]["title"] for row in rows]

    assert texts(Chosen()) == ["fact", "said", "words", "a.txt"]
    assert texts(Chosen(kinds=frozenset({Kind.FACT}))) == ["fact"]
    assert texts(Chosen(kinds=frozenset({Kind.DOCUMENT_CHUNK}))) == ["words", "a.txt"]
    now = core.clock.now()
    assert texts(Chosen(until=now.replace(year=now.year - 1))) == []
    assert texts(Chosen(since=from_iso("2020-01-01T00:00:00Z"))) == ["fact", "said", "words", "a.txt"]
