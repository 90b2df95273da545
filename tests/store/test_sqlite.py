"""What is SQLite's own: durable settings, several processes on one file, the index, and erasure from the bytes."""

import random
import string
import threading
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from memorist import words
from memorist.bootstrap import open_core, open_store
from memorist.core import Core
from memorist.errors import StoreBusy, StoreUnavailable
from memorist.memories import writing
from memorist.memories.values import Draft
from memorist.platform.values import Principal, Role, Tenant
from memorist.store import sqlite
from memorist.store.sql_store import SqlStore
from memorist.testing import make_memory
from memorist.testing.clocks import START
from memorist.testing.conformance.helpers import save_vectors
from memorist.testing.makers import make_embedded
from tests.support.jobs import remember_many
from tests.support.processes import in_processes
from tests.support.stores import bare

ADA = Principal("t", Role.USER, "ada")
BOB = Principal("t", Role.USER, "bob")


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
def core(sqlite_url: str) -> Iterator[Core]:
    core = open_core(bare(sqlite_url))
    core.identity.create_tenant("t")
    yield core
    core.close()


@pytest.fixture
def raw(core: Core, sqlite_url: str) -> Iterator[apsw.Connection]:  # noqa: ARG001  The core makes the file.
    """A connection of its own, beside the store's."""
    connection = apsw.Connection(sqlite_url)
    yield connection
    connection.close()


# Settings of the connection


@pytest.mark.parametrize("version", ["3.51.2", "3.50.9", "3.7.11", "2.8.17"])
def test_old_sqlite_is_refused(version: str) -> None:
    with pytest.raises(StoreUnavailable, match=rf"SQLite {version} is too old: 3\.51\.3 or newer"):
        sqlite.require_sqlite(version)


@pytest.mark.parametrize("version", ["3.51.3", "3.52.0", "3.100.0", "4.0.0", "3.54.1.2"])
def test_recent_sqlite_is_taken(version: str) -> None:
    sqlite.require_sqlite(version)


def test_store_does_not_open_on_an_old_sqlite(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(StoreUnavailable, match="too old"):
        open_store(bare(sqlite_url))
    assert not Path(sqlite_url).exists()


@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("secure_delete", 1), ("foreign_keys", 1)],
)
def test_every_connection_is_durable_and_erases(store: SqlStore, pragma: str, value: object) -> None:
    connections = [store.driver._writer]
    store.driver.read(None, lambda connection: connections.append(connection._connection))
    assert len(connections) == 2
    assert [connection.pragma(pragma) for connection in connections] == [value, value]


def test_reader_cannot_write(store: SqlStore) -> None:
    with pytest.raises(apsw.ReadOnlyError):
        store.driver._take_reader().execute("DELETE FROM tenants")


@pytest.mark.usefixtures("store")
def test_folder_is_made_for_its_owner_only(sqlite_url: str) -> None:
    assert Path(sqlite_url).parent.stat().st_mode & 0o777 == 0o700


def test_new_file_has_no_keys_and_no_tenants(store: SqlStore) -> None:
    assert not store.has_keys()
    assert store.list_tenants() == []


def test_description_names_the_file(store: SqlStore, sqlite_url: str) -> None:
    described = store.driver.describe()
    assert (described["engine"], described["place"]) == ("SQLite", sqlite_url)
    assert described["version"] == apsw.sqlite_lib_version()
    assert described["size_bytes"] == sum(Path(sqlite_url + end).stat().st_size for end in ("", "-wal"))


@pytest.mark.parametrize("shape", ["{}", "sqlite://{}"])
def test_path_and_url_open_the_same_file(sqlite_url: str, shape: str) -> None:
    open_core(bare(shape.format(sqlite_url))).close()
    assert Path(sqlite_url).is_file()


@pytest.mark.parametrize(
    "late", [lambda core: core.memories.list(ADA), lambda core: core.memories.remember(ADA, [Draft("y")])]
)
def test_closed_store_says_so(core: Core, late: Callable[[Core], object]) -> None:
    core.memories.remember(ADA, [Draft("x")])
    core.close()
    with pytest.raises(StoreUnavailable, match="This store was closed"):
        late(core)


def test_file_that_is_replaced_while_it_is_opened_is_not_taken_for_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "memorist.db", tmp_path / "other.db"
    for one in (path, other):
        open_core(bare(str(one))).close()
    open_file = sqlite.SqliteDriver._open

    def open_late(driver: sqlite.SqliteDriver) -> apsw.Connection:
        connection = open_file(driver)
        if other.exists():
            other.replace(path)
        return connection

    monkeypatch.setattr(sqlite.SqliteDriver, "_open", open_late)
    with pytest.raises(StoreBusy, match="Open it again"):
        open_store(bare(str(path)))
    open_core(bare(str(path))).close()


# Threads and processes


def test_four_processes_write_one_file_at_once_and_lose_nothing(core: Core, sqlite_url: str) -> None:
    acknowledged = [memory_id for ids in in_processes(4, remember_many, sqlite_url, "t", 100) for memory_id in ids]
    assert len(set(acknowledged)) == 400
    assert len(core.store.read("t", lambda tx: tx.memories.get_many(acknowledged))) == 400
    assert set(core.store.check().values()) == {"ok"}


def test_upkeep_waits_for_an_open_transaction(core: Core) -> None:
    errors: list[BaseException] = []

    def keep_up(started: threading.Event) -> None:
        started.set()
        try:
            core.store.checkpoint()
            core.store.check()
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    def work(tx) -> threading.Thread:
        started = threading.Event()
        upkeep = threading.Thread(target=keep_up, args=(started,))
        upkeep.start()
        started.wait()
        for _ in range(100):
            writing.insert(tx, make_memory("t"))
        return upkeep

    core.store.write("t", work).join()
    assert errors == []


def test_closing_waits_for_an_open_transaction(core: Core, sqlite_url: str) -> None:
    memory = make_memory("t")
    errors: list[BaseException] = []

    def close(started: threading.Event) -> None:
        started.set()
        try:
            core.store.close()
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    def work(tx) -> threading.Thread:
        started = threading.Event()
        closing = threading.Thread(target=close, args=(started,))
        closing.start()
        started.wait()
        for _ in range(100):
            writing.insert(tx, make_memory("t"))
        writing.insert(tx, memory)
        return closing

    core.store.write("t", work).join()
    assert errors == []
    again = open_store(bare(sqlite_url))
    assert again.read("t", lambda tx: tx.memories.get(memory.id)) == memory
    again.close()


def test_reading_goes_on_while_a_transaction_is_open(core: Core) -> None:
    core.memories.remember(ADA, [Draft("first")])

    def work(tx) -> list[str]:
        writing.insert(tx, make_memory("t"))
        seen: list[str] = []
        reader = threading.Thread(target=lambda: seen.extend(m.content for m in core.memories.list(ADA).items))
        reader.start()
        reader.join(30)
        return seen

    assert core.store.write("t", work) == ["first"]


# The index


def index_rows(connection: apsw.Connection) -> tuple[int, int]:
    return (
        connection.execute("SELECT count(*) FROM memories").get,
        connection.execute("SELECT count(*) FROM memory_index").get,
    )


def containing(connection: apsw.Connection, word: str) -> int:
    """How many rows of the index have a word among their terms."""
    (term,) = words.terms(word)
    packed = [row[0] for row in connection.execute("SELECT terms FROM memory_index")]
    return sum(any(number & ~0xF == words.hash_of(term) for number in array("I", one)) for one in packed)


def test_index_rows_follow_memories_through_their_life(core: Core, raw: apsw.Connection) -> None:
    memory = core.memories.remember(ADA, [Draft("the quick brown fox")])[0].memory
    core.memories.remember(BOB, [Draft("a lazy dog")])
    assert (index_rows(raw), containing(raw, "fox")) == ((2, 2), 1)
    core.memories.edit(ADA, memory.id, {"content": "a slow green turtle", "description": "Schildkröte"})
    assert (index_rows(raw), containing(raw, "fox"), containing(raw, "turtle"), containing(raw, "schildkrote")) == (
        (2, 2),
        0,
        1,
        1,
    )
    core.memories.forget(ADA, memory.id)
    assert index_rows(raw) == (2, 2)
    core.erasure.reset(ADA)
    assert (index_rows(raw), containing(raw, "turtle"), containing(raw, "dog")) == ((1, 1), 0, 1)


def test_failed_write_leaves_no_index_row(core: Core, raw: apsw.Connection) -> None:
    def work(tx) -> None:
        writing.insert(tx, make_memory("t", content="phantom"))
        raise LookupError

    with pytest.raises(LookupError):
        core.store.write("t", work)
    assert (index_rows(raw), containing(raw, "phantom")) == ((0, 0), 0)


def test_check_finds_a_memory_without_an_index_row(core: Core, raw: apsw.Connection) -> None:
    memory = core.memories.remember(ADA, [Draft("the quick brown fox")])[0].memory
    assert core.store.check()["tenant t"] == "ok"
    raw.execute("DELETE FROM memory_index")
    findings = core.store.check()
    assert findings["tenant t"] == "1 rows, 0 of them indexed, 1 created events, 0 events and 0 tokens of no memory"
    assert core.memories.get(ADA, memory.id).content == "the quick brown fox"


def test_check_finds_tokens_of_no_memory(core: Core, raw: apsw.Connection) -> None:
    memory = core.memories.remember(ADA, [Draft("the quick brown fox")])[0].memory
    save_vectors(core.store, "t", make_embedded(memory))
    assert core.store.check()["tenant t"] == "ok"
    raw.execute("UPDATE memory_tokens SET memory_id = 'mem_gone'")
    assert core.store.check()["tenant t"].endswith("0 events and 1 tokens of no memory")


# Erasure


def new_word(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(12, 18)))


def words_in_files(folder: Path, wanted: list[str], length: int = 12) -> dict[str, int]:
    """For each file, how many of the words it holds a piece of; pieces so long that none is there by chance."""
    found = {}
    for file in folder.iterdir():
        data = file.read_bytes()
        pieces = {data[start : start + length] for start in range(len(data) - length + 1)}
        found[file.name] = sum(
            any(word[start : start + length].encode() in pieces for start in range(len(word) - length + 1))
            for word in wanted
        )
    return found


def test_erased_text_is_in_no_file(core: Core, sqlite_url: str, rng: random.Random) -> None:
    """Of hundreds of rows of all sizes, edited and forgotten, with their names, meta, events and stored answers."""
    folder = Path(sqlite_url).parent
    gone: list[str] = []
    kept: list[str] = []
    for number in range(120):
        principal, own = rng.choice(((ADA, gone), (BOB, kept)))
        fresh = [new_word(rng) for _ in range(rng.choice((3, 12, 60, 1500)))]
        own += fresh
        draft = Draft(
            " ".join(fresh[1:]),
            name=f"name-{fresh[0]}" if number % 3 == 0 else None,
            description=fresh[0],
            excerpt=fresh[0],
            meta={fresh[0]: fresh[0]},
            project=fresh[0],
            source_ref=fresh[0],
        )
        memory = core.memories.remember(principal, [draft], idempotency_key=fresh[0])[0].memory
        if number % 4 == 0:
            own.append(new_word(rng))
            core.memories.edit(principal, memory.id, {"content": own[-1]}, idempotency_key=own[-1])
        if number % 5 == 0:
            core.memories.forget(principal, memory.id)
    assert words_in_files(folder, gone)["memorist.db-wal"] > 0
    assert core.erasure.reset(ADA).memories > 0
    assert set(words_in_files(folder, gone).values()) == {0}
    assert words_in_files(folder, kept)["memorist.db"] == len(kept)
    assert set(core.store.check().values()) == {"ok"}


def test_text_erased_by_the_store_is_in_no_file_after_a_checkpoint(core: Core, sqlite_url: str) -> None:
    folder = Path(sqlite_url).parent
    memory = core.memories.remember(ADA, [Draft("xylophone quetzalcoatl")])[0].memory
    core.memories.remember(BOB, [Draft("xylem quetzal")])
    erased = ["xylophone", "quetzalcoatl"]
    assert sum(words_in_files(folder, erased).values()) > 0
    core.store.write("t", lambda tx: tx.erasure.erase_rows([memory.id]))
    core.store.checkpoint()
    assert set(words_in_files(folder, erased).values()) == {0}


def test_erased_words_are_not_among_the_terms_of_the_index(core: Core, raw: apsw.Connection, sqlite_url: str) -> None:
    core.memories.remember(ADA, [Draft("xylophone shared")])
    core.memories.remember(BOB, [Draft("marimba shared")])
    # The terms of a text stand together in the file: what is looked for is too long to be there by chance.
    packed = words.pack("xylophone shared")
    core.erasure.reset(ADA)
    assert (containing(raw, "xylophone"), containing(raw, "marimba"), containing(raw, "shared")) == (0, 1, 1)
    assert all(packed not in file.read_bytes() for file in Path(sqlite_url).parent.iterdir())


def test_erased_payloads_and_documents_are_in_no_file(core: Core, sqlite_url: str, rng: random.Random) -> None:
    gone = [new_word(rng) for _ in range(3000)]
    kept = [new_word(rng) for _ in range(3000)]
    for principal, fresh in ((ADA, gone), (BOB, kept)):
        core.ingestion.add_tool_output(
            principal, "s", tool_call_id="call", tool_name="search", content=" ".join(fresh[:2000])
        )
        core.ingestion.add_document(principal, title="notes", content=" ".join(fresh[2000:]))
    core.erasure.reset(ADA)
    found = words_in_files(Path(sqlite_url).parent, gone)
    assert set(found.values()) == {0}
    # A few stand across two pages of the file.
    assert words_in_files(Path(sqlite_url).parent, kept)["memorist.db"] > 0.98 * len(kept)


def test_log_that_a_reader_keeps_from_being_emptied_is_told(tmp_path: Path) -> None:
    path = tmp_path / "memorist.db"
    store = open_store(bare(str(path), busy_timeout_ms=50))
    store.migrator.migrate(START)
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN; SELECT count(*) FROM memories").fetchall()
    store.create_tenant(Tenant("acme", START))
    with pytest.raises(StoreBusy, match="long read"):
        store.checkpoint()
    reader.close()
    store.checkpoint()
    store.close()
