"""Encryption at rest: no word is readable in the database, keys change and go, and nothing is read without them."""

import base64
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from memorist.bootstrap import open_core, resealing_of
from memorist.context.values import MAX_ENTRY
from memorist.core import Core
from memorist.erasure.values import EVERYTHING
from memorist.errors import EncryptionKeyError, InvalidSetting, StoreBusy, StoreCorrupt
from memorist.memories import writing
from memorist.memories.values import Draft
from memorist.platform.values import Owner, Principal, Role, Seal
from memorist.ports import Reader
from memorist.recall.values import Question
from memorist.settings import Settings
from memorist.settings_sources import load_settings
from memorist.store.resealing import Resealing, encryption_of
from memorist.store.sealing import MasterKeys, TenantKeys, read_master_keys
from memorist.store.statements import SqlStatement, load_statements, to_psycopg
from memorist.store.tables import SEALED, TABLES
from memorist.testing import make_memory, new_tenant
from memorist.testing.clocks import START
from memorist.testing.conformance.helpers import ADA, created, index_rows, save_vectors
from memorist.testing.makers import make_embedded
from memorist.views.values import Browse
from tests.erasure.conftest import every_row
from tests.erasure.plant import Planter
from tests.support.stores import MASTER_KEY, bare, bytes_in

OTHER_KEY = base64.b64encode(bytes(range(32, 64))).decode()

# What stays in plain text, as docs/howto/encrypt-at-rest.md says: whose a row is, and what rows are found by.
PLAIN = {
    "memories": {"agent_id", "session_id", "project", "category", "source_ref"},
    "memory_index": {"agent_id", "thread", "category", "project"},
    "memory_tokens": set(),
    "memory_events": set(),
    "tool_outputs": set(),
    "doubts": {"agent_id"},
    "jobs": {"key", "acting"},
    "turn_events": set(),
    "turns": {"agent_id", "session_id"},
    "idempotency_keys": {"route", "key"},
    "documents": {"id"},
    "recalls": {"agent_id", "source"},
}


@pytest.fixture
def settings(own_database_url: str) -> Settings:
    """Nobody else's: who has no key cannot open it any more."""
    return bare(own_database_url)


@pytest.fixture
def encrypted(settings: Settings) -> Settings:
    return replace(settings, encryption_key=MASTER_KEY)


@pytest.fixture
def opened(clock) -> Iterator[Callable[[Settings], Core]]:
    """Open a core, with nothing in the background."""
    cores: list[Core] = []

    def call(settings: Settings) -> Core:
        cores.append(open_core(settings, clock=clock, background=False))
        return cores[-1]

    yield call
    for core in cores:
        core.close()


def new_user(core: Core) -> Principal:
    tenant, _ = core.identity.create_tenant(new_tenant())
    return Principal(tenant.id, Role.USER, "ada")


def read_raw(core: Core, tenant: str, table: str, column: str) -> list[Any]:
    """What the database has, decrypted by nobody."""
    store = core.store
    sql = f"SELECT {column} FROM {table} WHERE tenant_id = :tenant"
    sql = to_psycopg(sql) if store.driver.dialect == "postgres" else sql
    statement = SqlStatement("raw", "", sql, ("tenant",))
    return [
        row[0] for row in store.driver.read(tenant, lambda connection: connection.rows(statement, {"tenant": tenant}))
    ]


def held_by(settings: Settings, tenant: str) -> bytes:
    path = settings.sqlite_path()
    return b"\n".join(every_row(settings.database_url(), tenant)) if path is None else bytes_in(path.parent)


def columns_with(core: Core, tenant: str, markers: set[str]) -> dict[str, set[str]]:
    """Which columns hold a marker, by table."""
    found: dict[str, set[str]] = {}
    for table in TABLES:
        if table.name in SEALED:
            found[table.name] = {
                column
                for column in table.texts
                if any(
                    marker in (raw if isinstance(raw, str) else "")
                    for raw in read_raw(core, tenant, table.name, column)
                    for marker in markers
                )
            }
    return found


def plant(core: Core, user: Principal) -> Planter:
    planter = Planter(random.Random(5))
    planter.everywhere(core, user, 20)
    return planter


def all_that_reads(core: Core, user: Principal) -> Any:
    """What a tenant has, as its doors show it."""
    tenant = user.tenant
    memories = core.store.read(tenant, lambda tx: sorted(tx.memories.scan(EVERYTHING, "", 500), key=lambda one: one.id))
    events = core.store.read(tenant, lambda tx: tx.events.of([one.id for one in memories]))
    documents = core.store.read(tenant, lambda tx: tx.documents.page(EVERYTHING, None, 500, whole=True))
    jobs = core.store.read(tenant, lambda tx: tx.jobs.page(EVERYTHING, None, 500, status=None, kind=None))
    tokens = core.store.read(tenant, lambda tx: tx.index.tokens([one.id for one in memories], "model-1"))
    assert tokens
    return memories, events, documents, jobs, tokens, index_rows(core.store, tenant, "ada")


# No word is readable


def test_only_what_the_documentation_names_is_in_plain_text(encrypted: Settings, opened) -> None:
    core = opened(encrypted)
    user = new_user(core)
    planter = plant(core, user)
    vectors, tokens = b"so many bytes of a vector", b"and of its tokens"
    memory = created(core.store, make_memory(user.tenant))
    save_vectors(core.store, user.tenant, make_embedded(memory, vectors=vectors, tokens=tokens))
    found = columns_with(core, user.tenant, set(planter.markers))
    assert found == PLAIN
    page = Path("docs/howto/encrypt-at-rest.md").read_text("utf-8")
    assert [name for columns in PLAIN.values() for name in columns if f"`{name}`" not in page] == []
    # The same in the files, or in whatever table a server has.
    plain = {
        marker
        for table, columns in PLAIN.items()
        for column in columns
        for raw in read_raw(core, user.tenant, table, column)
        for marker in planter.markers
        if marker in (raw or "")
    }
    assert len(plain) < len(planter.markers) / 2
    held = held_by(encrypted, user.tenant)
    assert [marker for marker in planter.markers if marker.encode() in held and marker not in plain] == []
    assert vectors not in held
    assert tokens not in held
    assert all(marker.encode() in held for marker in plain)


def test_every_column_that_can_hold_a_text_is_encrypted_or_named_here() -> None:
    """A migration that adds one fails here until store/tables.py or this file says which."""
    no_words = {"user_id", "agent_id", "actor", "source", "media_type"}
    for table in SEALED.values():
        assert set(table.texts) - {*table.sealed, *table.matched} <= PLAIN[table.name] | no_words, table.name
    assert {table.name for table in TABLES if table.texts} - SEALED.keys() == {"policies", "api_keys", "sign_ins"}


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_every_column_that_is_encrypted_is_written_by_its_name(dialect: str) -> None:
    """Or what is written there would be in plain text."""
    statements = load_statements(dialect).values()
    for table in SEALED.values():
        written = [
            one for one in statements if one.sql.startswith((f"INSERT INTO {table.name} ", f"UPDATE {table.name} "))
        ]
        for column in (*table.sealed, *table.matched):
            sealed = [one for one in written if column in one.parameters]
            assert sealed, (table.name, column)
            for one in sealed:
                assert one.seals[one.parameters.index(column)] is table.seal_of(column), one.name
    (found,) = (one for one in statements if one.name == "find_named")
    assert found.seals[found.parameters.index("name")] is Seal.EQUAL


def test_words_are_found_where_the_database_cannot_compare_them(encrypted: Settings, opened) -> None:
    core = opened(encrypted)
    user = new_user(core)
    ids = {
        text: core.memories.remember(user, [Draft(text, category="decision")])[0].memory.id
        for text in ("Use pnpm for this", "Grüße aus Köln", "nothing of it")
    }
    for word, text in (("PNPM", "Use pnpm for this"), ("köln", "Grüße aus Köln")):
        page = core.browsing.page(user, Browse(text=word))
        assert [one.id for one in page.items] == [ids[text]]
    answer = core.recall.recall(user, Question("which pnpm"))
    assert [hit.memory.id for hit in answer.hits][:1] == [ids["Use pnpm for this"]]
    # A name is still unique, and an equal text the same memory.
    named = Draft("x", name="a-name")
    first = core.memories.remember(user, [named])[0].memory
    assert core.store.read(user.tenant, lambda tx: tx.memories.find_named("ada", "default", "a-name")).id == first.id
    assert not core.memories.remember(user, [Draft("nothing of it", category="decision")])[0].was_new


def test_longest_entry_is_shown_and_what_is_longer_is_not(encrypted: Settings, opened) -> None:
    core = opened(encrypted)
    user = new_user(core)
    texts = ["é" * MAX_ENTRY, "x" * (MAX_ENTRY + 1), "y" * MAX_ENTRY]
    for text in texts:
        created(core.store, make_memory(user.tenant, owner=Owner("ada"), content=text, category="goal"))
    found = core.store.read(
        user.tenant, lambda tx: tx.context.list_category(ADA, "goal", START, 2, after=None, since=None)
    )
    assert {memory.content for memory in found} == {texts[0], texts[2]}


# Encrypting what is there


class Stopped(Exception):
    pass


def test_what_is_there_is_encrypted_and_goes_on_where_it_was_stopped(
    settings: Settings, encrypted: Settings, opened
) -> None:
    plain = opened(settings)
    user = new_user(plain)
    planter = plant(plain, user)
    named = plain.memories.remember(user, [Draft("a text", name="a-name")])[0].memory
    # Somebody's text that looks as if it were encrypted.
    odd = plain.memories.remember(user, [Draft("\n\ue0007:QUJD")])[0].memory
    before = all_that_reads(plain, user)
    plain.close()

    core = opened(encrypted)
    work = resealing_of(core)
    assert not encryption_of(core.store, user.tenant).is_encrypted
    assert all_that_reads(core, user) == before

    def stop(table: str, _: int) -> None:
        if table == "documents":
            raise Stopped

    with pytest.raises(Stopped):
        work.enable(user.tenant, stop)
    half = encryption_of(core.store, user.tenant)
    assert (half.is_encrypted, half.is_complete) == (True, False)
    # Half of it is encrypted, and nobody notices.
    assert core.memories.get(user, odd.id).content == odd.content
    assert _without_digests(all_that_reads(core, user)) == _without_digests(before)
    assert core.store.read(user.tenant, lambda tx: tx.memories.find_named("ada", "default", "a-name")).id == named.id

    assert work.enable(user.tenant, lambda *_: None)
    assert encryption_of(core.store, user.tenant).is_complete
    assert work.enable(user.tenant, lambda *_: None) == ()
    assert core.memories.get(user, odd.id).content == odd.content
    assert _without_digests(all_that_reads(core, user)) == _without_digests(before)
    assert columns_with(core, user.tenant, set(planter.markers)) == PLAIN
    if encrypted.sqlite_path() is not None:
        assert b"a text" not in held_by(encrypted, user.tenant)


def test_file_that_could_not_be_written_anew_is_by_the_next_time(own_sqlite_url: str, opened) -> None:
    settings = bare(own_sqlite_url, busy_timeout_ms=50)
    plain = opened(settings)
    user = new_user(plain)
    plain.memories.remember(user, [Draft("Quagmireville in plain text")])
    plain.close()
    core = opened(replace(settings, encryption_key=MASTER_KEY))
    reader = apsw.Connection(own_sqlite_url)
    reader.execute("BEGIN; SELECT count(*) FROM memories").fetchall()
    work = resealing_of(core)
    with pytest.raises(StoreBusy):
        work.enable(user.tenant, lambda *_: None)
    assert not encryption_of(core.store, user.tenant).is_complete
    reader.close()
    assert b"Quagmireville" in held_by(settings, user.tenant)
    assert work.enable(user.tenant, lambda *_: None)
    assert encryption_of(core.store, user.tenant).is_complete
    assert b"Quagmireville" not in held_by(settings, user.tenant)


def _without_digests(read: Any) -> Any:
    *others, index = read
    return [*others, [row._replace(digest=0) for row in index]]


# Keys


def test_new_data_key_takes_the_place_of_the_old_one_while_others_write(encrypted: Settings, opened) -> None:
    core = opened(encrypted)
    user = new_user(core)
    plant(core, user)
    before = all_that_reads(core, user)
    wrote, goes_on = threading.Event(), threading.Event()
    late = make_memory(user.tenant, content="written meanwhile")

    def write(tx: Any) -> None:
        writing.insert(tx, late)
        tx.events.append([])
        wrote.set()
        assert goes_on.wait(30)

    writer = threading.Thread(target=core.store.write, args=(user.tenant, write))
    writer.start()
    assert wrote.wait(30)
    rotating = threading.Thread(target=resealing_of(core).rotate, args=(user.tenant, lambda *_: None))
    rotating.start()
    goes_on.set()
    writer.join(60)
    rotating.join(60)
    status = encryption_of(core.store, user.tenant)
    assert (status.keys, status.is_complete) == (1, True)
    assert core.memories.get(user, late.id).content == late.content
    found = all_that_reads(core, user)
    assert [one for one in found[0] if one.id != late.id] == before[0]
    assert found[1:5] == before[1:5]


def test_rows_read_while_a_key_is_dropped_are_read_again(encrypted: Settings, opened, monkeypatch) -> None:
    core = opened(encrypted)
    user = new_user(core)
    memory, other = (core.memories.remember(user, [Draft(text)])[0].memory for text in ("a text", "another text"))
    rotate = partial(resealing_of(core).rotate, user.tenant, lambda *_: None)
    find = core.store.keyring.find

    def find_later(*arguments: Any, **options: Any) -> Any:
        """As if the old key had been dropped between a row and the keys."""
        monkeypatch.undo()
        rotate()
        return find(*arguments, **options)

    def read_both(tx: Reader) -> list[str | None]:
        """As if a new one had come between two rows."""
        first = tx.memories.get(memory.id)
        rotate()
        return [one and one.content for one in (first, tx.memories.get(other.id))]

    monkeypatch.setattr(core.store.keyring, "find", find_later)
    found = core.store.read(user.tenant, lambda tx: tx.memories.get(memory.id), snapshot=False)
    assert found.content == "a text"
    assert core.store.read(user.tenant, read_both, snapshot=False) == ["a text", "another text"]


def test_write_that_read_a_row_before_its_key_was_dropped_reads_it_again(
    own_postgres_url: str, opened, monkeypatch
) -> None:
    core = opened(bare(own_postgres_url, encryption_key=MASTER_KEY))
    user = new_user(core)
    memory = core.memories.remember(user, [Draft("a text")])[0].memory
    find = core.store.keyring.find

    def find_later(*arguments: Any, **options: Any) -> Any:
        monkeypatch.undo()
        resealing_of(core).rotate(user.tenant, lambda *_: None)
        return find(*arguments, **options)

    monkeypatch.setattr(core.store.keyring, "find", find_later)
    assert core.store.write(user.tenant, lambda tx: tx.memories.get(memory.id)).content == "a text"


def test_read_that_began_before_a_tenant_was_encrypted_shows_its_text(
    settings: Settings, encrypted: Settings, opened
) -> None:
    plain = opened(settings)
    user = new_user(plain)
    memory = plain.memories.remember(user, [Draft("a text", name="a-name")])[0].memory
    plain.close()
    core = opened(encrypted)

    def work(tx: Reader) -> list[str | None]:
        first = tx.memories.find_named("ada", "default", "a-name")
        resealing_of(core).enable(user.tenant, lambda *_: None)
        return [one and one.content for one in (first, tx.memories.get(memory.id))]

    assert core.store.read(user.tenant, work, snapshot=False) == ["a text", "a text"]


def test_key_that_is_made_while_the_files_are_written_anew_is_not_complete(
    encrypted: Settings, opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = opened(encrypted)
    user = new_user(core)
    memory = core.memories.remember(user, [Draft("a text")])[0].memory
    work, scrub = resealing_of(core), core.store.scrub

    def stop(*_: Any) -> None:
        raise Stopped

    def scrub_slowly(tenant: str) -> tuple[str, ...]:
        monkeypatch.setattr(core.store, "scrub", scrub)
        work.enable(tenant, lambda *_: None)
        with pytest.raises(Stopped):
            work.rotate(tenant, stop)
        return scrub(tenant)

    monkeypatch.setattr(core.store, "scrub", scrub_slowly)
    work.rotate(user.tenant, lambda *_: None)
    status = encryption_of(core.store, user.tenant)
    assert (status.keys, status.is_complete) == (2, False)
    assert core.memories.get(user, memory.id).content == "a text"
    work.rotate(user.tenant, lambda *_: None)
    status = encryption_of(core.store, user.tenant)
    assert (status.keys, status.is_complete) == (1, True)
    assert core.memories.get(user, memory.id).content == "a text"


def test_row_that_somebody_changes_meanwhile_is_encrypted_anew_too(
    own_postgres_url: str, opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL others write between reading a row and changing it, and may leave its vectors as they were."""
    core = opened(bare(own_postgres_url, encryption_key=MASTER_KEY))
    user = new_user(core)
    memory = core.memories.remember(user, [Draft("a text")])[0].memory
    save_vectors(core.store, user.tenant, make_embedded(memory, vectors=b"a vector"))
    put = Resealing._put
    changed: list[str] = []

    def put_late(self: Resealing, connection: Any, tenant: str, table: Any, *rest: Any) -> int:
        if table.name == "memory_index" and not changed:
            changed.append(core.memories.edit(user, memory.id, {"importance": 3}).id)
        return put(self, connection, tenant, table, *rest)

    monkeypatch.setattr(Resealing, "_put", put_late)
    resealing_of(core).rotate(user.tenant, lambda *_: None)
    assert changed == [memory.id]
    assert encryption_of(core.store, user.tenant).keys == 1
    (row,) = index_rows(core.store, user.tenant, "ada")
    assert row.vectors == b"a vector"


def test_master_key_is_changed_by_adding_the_new_one_first(encrypted: Settings, opened) -> None:
    core = opened(encrypted)
    user = new_user(core)
    memory = core.memories.remember(user, [Draft("a text")])[0].memory
    both = opened(replace(encrypted, encryption_key=f"{OTHER_KEY}\n{MASTER_KEY}"))
    old = encryption_of(core.store, user.tenant).master
    assert resealing_of(both).rewrap(user.tenant) == 1
    assert resealing_of(both).rewrap(user.tenant) == 0
    assert encryption_of(core.store, user.tenant).master == MasterKeys.parse(OTHER_KEY, "x").name != old
    assert both.memories.get(user, memory.id).content == "a text"
    with pytest.raises(EncryptionKeyError, match="another key"):
        core.memories.get(user, memory.id)


def test_nothing_opens_without_the_key_and_nothing_is_changed(settings: Settings, encrypted: Settings, opened) -> None:
    core = opened(encrypted)
    user = new_user(core)
    memory = core.memories.remember(user, [Draft("a text")])[0].memory
    stored = read_raw(core, user.tenant, "memories", "content")
    with pytest.raises(EncryptionKeyError, match="encryption_key_file"):
        opened(settings)
    with pytest.raises(EncryptionKeyError, match="another key"):
        opened(replace(settings, encryption_key=OTHER_KEY))
    assert read_raw(core, user.tenant, "memories", "content") == stored
    assert core.memories.get(user, memory.id).content == "a text"


@pytest.mark.parametrize("look", ["ping", "examine"])
def test_who_was_started_without_the_key_notices(settings: Settings, encrypted: Settings, opened, look: str) -> None:
    plain = opened(settings)
    user = new_user(plain)
    memory = plain.memories.remember(user, [Draft("a text")])[0].memory
    resealing_of(opened(encrypted)).enable(user.tenant, lambda *_: None)
    if look == "examine":
        plain.store.examine(1)
    else:
        with pytest.raises(EncryptionKeyError):
            plain.store.ping()
    with pytest.raises(EncryptionKeyError):
        plain.memories.get(user, memory.id)
    with pytest.raises(EncryptionKeyError):
        plain.memories.remember(user, [Draft("another text")])


def test_deleting_a_tenant_drops_its_keys_and_the_receipt_says_so(encrypted: Settings, opened) -> None:
    core = opened(encrypted)
    user = new_user(core)
    core.memories.remember(user, [Draft("a text of somebody")])
    old = core.store.keyring
    keys = core.store.driver.read(user.tenant, lambda connection: old.rows(connection, user.tenant))
    admin = Principal(user.tenant, Role.ADMIN)
    receipt = core.erasure.delete_tenant(admin, confirm=user.tenant, at_once=True)
    assert receipt.counts["tenant_keys"] == 1
    assert receipt.verification.ok
    status = encryption_of(core.store, user.tenant)
    assert (status.is_encrypted, status.keys) == (True, 0)
    assert keys[-1][1] not in held_by(encrypted, user.tenant)
    # Whoever comes back gets another key.
    core.memories.remember(user, [Draft("a text of another")])
    again = core.store.driver.read(user.tenant, lambda connection: old.rows(connection, user.tenant))
    assert len(again) == 2
    assert again[-1][1] != keys[-1][1]
    assert b"a text of another" not in held_by(encrypted, user.tenant)


def test_what_was_changed_is_noticed() -> None:
    keys = TenantKeys({7: bytes(96)}, is_complete=True)
    for value in ("a text", b"some bytes"):
        sealed = keys.seal(value)
        assert keys.seal(value) != sealed
        assert keys.open(sealed) == value
        other = sealed[:-2] + (b"AA" if isinstance(value, bytes) else "AA")
        with pytest.raises(StoreCorrupt):
            keys.open(other)
    assert keys.match("a") == keys.match("a") != keys.match("b")
    assert keys.open(keys.match("a")) == "a"
    assert [keys.seal(""), keys.match(""), keys.seal(None), keys.match(0)] == ["", "", None, 0]


def test_master_key_comes_from_one_place(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{MASTER_KEY}\n")
    by_file = read_master_keys(str(file), "", "")
    assert by_file.name == read_master_keys("", MASTER_KEY, "").name == read_master_keys("", "", f"cat {file}").name
    bad = [(str(tmp_path / "none"), "", ""), ("", "c2hvcnQ=", ""), ("", "", "false"), ("", "", "echo 'no key'")]
    for sources in bad:
        with pytest.raises(InvalidSetting) as caught:
            read_master_keys(*sources)
        assert "c2hvcnQ=" not in str(caught.value)
        assert "no key" not in str(caught.value)
    both = {"MEMORIST_ENCRYPTION_KEY": MASTER_KEY, "MEMORIST_ENCRYPTION_KEY_FILE": str(file)}
    with pytest.raises(InvalidSetting, match="set one of them"):
        load_settings({}, environment=both | {"XDG_CONFIG_HOME": str(tmp_path)})
