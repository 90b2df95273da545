"""Which plans PostgreSQL keeps for us, of whom, and that nobody sees more by them."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext

import pytest
from psycopg_pool import ConnectionPool

from memorist.bootstrap import open_core, open_store
from memorist.core import Core
from memorist.errors import NotFound
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories import writing
from memorist.memories.values import Draft, Kind, Memory
from memorist.platform.values import Principal, Role
from memorist.ports import Reader, Writer
from memorist.recall.values import Question
from memorist.store import postgres_connections
from memorist.store.drivers import Connection
from memorist.store.migrations import load_migrations
from memorist.store.postgres import PostgresDriver
from memorist.store.postgres_connections import (
    AloneConnection,
    PipelinedConnection,
    PooledConnection,
    PostgresConnection,
)
from memorist.store.sql_store import SqlStore
from memorist.store.statements import SqlStatement
from memorist.testing import make_memory, new_tenant
from tests.support.postgres import CITUS, become
from tests.support.proxy import proxied
from tests.support.stores import bare

with_partitions = pytest.mark.skipif(bool(CITUS), reason="a cluster has shards instead")

HOSTILE = "50%% of 100%(tenant)s' \\"


@pytest.fixture(scope="module")
def postgres_url(whole_postgres_url: str) -> str:
    return whole_postgres_url


@pytest.fixture
def database_url(postgres_url: str) -> str:
    return postgres_url


def alone(store: SqlStore, tenant: str) -> list[str]:
    """Ask for a memory as recall does, and return what the server has prepared on the connection that was asked."""

    def work(connection: Connection) -> None:
        assert isinstance(connection, AloneConnection)
        connection.rows(store.statements["get_memories"], {"tenant": tenant, "ids": ["mem_x"]})

    store.driver.read(tenant, work, snapshot=False)
    return prepared_of(store)


def prepared_of(store: SqlStore) -> list[str]:
    """What the server has prepared for recall on the one connection."""
    driver = store.driver
    assert isinstance(driver, PostgresDriver)
    with driver._pool.connection() as connection:
        listed = "SELECT statement FROM pg_prepared_statements WHERE from_sql AND statement LIKE '%FROM memories%'"
        return [row[0] for row in connection.execute(listed, prepare=False).fetchall()]


@pytest.fixture
def one_connection(postgres_url: str) -> Iterator[SqlStore]:
    store = open_store(bare(postgres_url, pool_size=1))
    yield store
    store.close()


@with_partitions
def test_what_is_asked_often_is_planned_once(one_connection: SqlStore, tenant: str) -> None:
    memory = make_memory(tenant)
    one_connection.write(tenant, lambda tx: writing.insert(tx, memory))
    assert [len(alone(one_connection, tenant)) for _ in range(7)] == [0, 0, 0, 0, 1, 1, 1]
    for whose, found in ((tenant, [memory]), (new_tenant(), [])):
        assert one_connection.read(whose, lambda tx: tx.memories.get_many([memory.id]), snapshot=False) == found


@with_partitions
def test_a_recall_is_two_messages_and_a_key_one(
    postgres_url: str, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = open_core(bare(postgres_url, pool_size=1), background=False)
    ada = Principal(tenant, Role.USER, "ada")
    core.identity.create_tenant(tenant)
    _, secret = core.identity.create_key(Principal(tenant, Role.ADMIN), Role.USER, user="ada")
    core.memories.remember(ada, [Draft("The teapot is blue.")])
    for _ in range(6):
        assert len(core.recall.recall(ada, Question("teapot")).hits) == 1
    asked: list[str] = []
    execute = PooledConnection.execute
    caller = threading.get_ident()

    def counted(self: PooledConnection, query: str, *given: object, **named: object) -> object:
        if threading.get_ident() == caller:  # The indexer asks too, when it likes.
            asked.append(query)
        return execute(self, query, *given, **named)

    monkeypatch.setattr(PooledConnection, "execute", counted)
    core.recall.recall(ada, Question("teapot"))
    assert [re.findall("EXECUTE|COMMIT", one) for one in asked] == [
        ["EXECUTE", "EXECUTE", "COMMIT"],
        ["EXECUTE", "COMMIT"],
    ]
    asked.clear()
    core.identity.authenticate(secret)
    assert len(asked) == 1
    asked.clear()
    core.memories.remember(ada, [Draft("The saucer is red.")])
    assert len(asked) <= 7
    core.close()


COPIED_TO_EVERY_NODE = {
    table
    for one in load_migrations("postgres")
    for table in re.findall(r"^-- @reference_table (\w+)$", one.sql, re.MULTILINE)
}


def test_no_recall_writes_what_every_node_of_a_cluster_has(
    postgres_url: str, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also not the first one of a tenant that another release has left: what is to be noted is noted aside."""
    admin, ada = Principal(tenant, Role.ADMIN), Principal(tenant, Role.USER, "ada")
    with closing(open_core(bare(postgres_url), background=False)) as first:
        first.identity.create_tenant(tenant)
        _, secret = first.identity.create_key(admin, Role.USER, user="ada")
        first.memories.remember(ada, [Draft("The teapot is blue.")])
        assert first.store.index_model(tenant) == ""
    asked: list[str] = []
    for name in ("rows", "rows_of_each", "run", "run_many"):
        for kind in (PostgresConnection, AloneConnection, PipelinedConnection):
            if (method := kind.__dict__.get(name)) is not None:
                monkeypatch.setattr(kind, name, noted(method, asked))
    with closing(open_core(bare(postgres_url), background=False)) as core:
        for _ in range(2):
            assert core.recall.recall(core.identity.authenticate(secret), Question("teapot")).hits
        core.accesses.flush()
        assert len(asked) > 5
        written = {name for text in asked for name in re.findall(r"(?:INTO|UPDATE|DELETE FROM) (\w+)", text)}
        assert written & COPIED_TO_EVERY_NODE == set()
        assert "memories" in written
        asked.clear()
    written = {name for text in asked for name in re.findall(r"(?:INTO|UPDATE|DELETE FROM) (\w+)", text)}
    assert written == {"tenants", "api_keys"}, "which closing does"


def noted(method: Callable[..., object], asked: list[str]) -> Callable[..., object]:
    def noting(self: object, statement: SqlStatement, *given: object) -> object:
        asked.append(statement.sql)
        return method(self, statement, *given)

    return noting


@with_partitions
def test_plan_that_is_lost_is_done_without(one_connection: SqlStore, tenant: str) -> None:
    memory = make_memory(tenant)
    one_connection.write(tenant, lambda tx: writing.insert(tx, memory))
    for _ in range(6):
        alone(one_connection, tenant)
    driver = one_connection.driver
    assert isinstance(driver, PostgresDriver)
    with driver._pool.connection() as connection:
        connection.execute("DEALLOCATE ALL")
    for _ in range(2):
        found = one_connection.read(tenant, lambda tx: tx.memories.get_many([memory.id]), snapshot=False)
        assert found == [memory]
    assert alone(one_connection, tenant) == []


def test_key_is_prepared_and_found_where_that_is_lost(one_connection: SqlStore) -> None:
    for _ in range(7):
        assert one_connection.find_key("x") is None
    with _pool(one_connection).connection() as connection:
        listed = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%FROM api_keys%'"
        assert connection.execute(listed, prepare=False).fetchall() == [(1,)]
        connection.execute("DEALLOCATE ALL")
    for _ in range(7):
        assert one_connection.find_key("x") is None


def test_connection_that_was_used_last_is_used_next(postgres_url: str) -> None:
    """Each of many would plan and cache the same."""
    with closing(open_store(bare(postgres_url, pool_size=3))) as store:
        pool = _pool(store)
        taken = [pool.getconn() for _ in range(3)]
        for connection in taken:
            pool.putconn(connection)
        for _ in range(3):
            with pool.connection() as connection:
                assert connection is taken[-1]


@pytest.mark.parametrize("has_proxy", [False, True])
def test_behind_a_proxy_nothing_is_prepared(postgres_url: str, tenant: str, has_proxy: bool) -> None:
    """It may lend another connection for each transaction, where others have prepared other things by the same name."""
    with proxied(postgres_url) if has_proxy else nullcontext(postgres_url) as url:
        store = open_store(bare(url, pool_size=1))
        for _ in range(7):
            memory = make_memory(tenant)
            store.write(tenant, lambda tx, memory=memory: writing.insert_many(tx, [memory, make_memory(tenant)]))
            assert store.read(tenant, lambda tx, memory=memory: tx.memories.get(memory.id)) == memory
            assert store.read(tenant, lambda tx, memory=memory: tx.memories.get(memory.id), snapshot=False) == memory
        driver = store.driver
        assert isinstance(driver, PostgresDriver)
        with driver._pool.connection() as connection:
            ((prepared,),) = connection.execute("SELECT count(*) FROM pg_prepared_statements", prepare=False).fetchall()
        assert (prepared == 0) is has_proxy
        store.close()


def test_what_walks_an_index_is_not_left_prepared_in_a_pipeline(postgres_url: str) -> None:
    with PooledConnection.connect(postgres_url, autocommit=True) as connection:
        pipelined = PipelinedConnection(connection, ["BEGIN READ ONLY"])
        for by_index, prepared in ((True, 0), (False, 1)):
            statement = SqlStatement("two", "Two.", "SELECT 2", by_index=by_index)
            assert pipelined.rows_of_each(statement, [{}] * 9) == [[(2,)]] * 9
            listed = "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT 2'"
            assert connection.execute(listed, prepare=False).fetchall() == [(prepared,)]


# Of one tenant, and of all


def explained(store: SqlStore, tenant: str, prepared: str) -> str:
    """How the server runs a statement that was prepared on the one connection."""
    driver = store.driver
    assert isinstance(driver, PostgresDriver)
    with driver._pool.connection() as connection, connection.transaction():
        become(connection, tenant)
        connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        listed = "SELECT name, parameter_types FROM pg_prepared_statements WHERE statement = %s"
        ((name, types),) = connection.execute(listed, [prepared], prepare=False).fetchall()
        given = ", ".join(["'{}'"] * (types.count(",") + 1))
        return str(connection.execute(f"EXPLAIN EXECUTE {name} ({given})", prepare=False).fetchall())


@with_partitions
def test_plan_of_one_tenant_is_of_its_partition(one_connection: SqlStore, tenant: str) -> None:
    for _ in range(5):
        (prepared,) = alone(one_connection, tenant) or [""]
    assert f"tenant_id = '{tenant}'" in prepared
    assert len(set(re.findall(r"memories_p\d\d", explained(one_connection, tenant, prepared)))) == 1


@with_partitions
def test_tenants_that_ask_seldom_share_a_plan(
    one_connection: SqlStore, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connections, "_KEPT_FOR_ALL_AFTER", 6)
    tenants = [tenant, *(new_tenant() for _ in range(6))]
    memories = {one: make_memory(one) for one in tenants}
    for one, memory in memories.items():
        one_connection.write(one, lambda tx, memory=memory: writing.insert(tx, memory))
    ids = [memory.id for memory in memories.values()]
    for asked, one in enumerate(tenants, start=1):
        found = one_connection.read(one, lambda tx: tx.memories.get_many(ids), snapshot=False)
        assert found == [memories[one]], "nobody else's are found"
        assert len(prepared_of(one_connection)) == (asked >= 6)
    (prepared,) = prepared_of(one_connection)
    assert "tenant_id = $1" in prepared


@with_partitions
def test_only_the_plans_used_last_are_kept(
    one_connection: SqlStore, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connections, "_MOST_PLANS", 2)
    tenants = [tenant, new_tenant(), new_tenant()]
    for one in tenants:
        for _ in range(5):
            kept = alone(one_connection, one)
    assert {one for one in tenants for text in kept if one in text} == set(tenants[1:])
    for _ in range(4):
        assert len(alone(one_connection, tenant)) == 2
    kept = alone(one_connection, tenant)
    assert {one for one in tenants for text in kept if one in text} == {tenant, tenants[2]}


@with_partitions
@pytest.mark.parametrize(
    ("part", "most"),
    [
        pytest.param("WITH messages", 0, id="walks an index"),
        pytest.param("FOR KEY SHARE SKIP LOCKED", 0, id="walks an index, too"),
        pytest.param("SELECT id, tenant_id, content", 5, id="is left to the server"),
    ],
)
def test_what_a_write_asks_often_is_not_planned_each_time(
    one_connection: SqlStore, tenant: str, part: str, most: int
) -> None:
    said = [make_memory(tenant, kind=Kind.CHAT_MESSAGE, session="tea") for _ in range(14)]
    for message in said:
        one_connection.write(tenant, lambda tx, message=message: write_as_the_indexer_does(tx, message))
    driver = one_connection.driver
    assert isinstance(driver, PostgresDriver)
    with driver._pool.connection() as connection:
        listed = "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE %s"
        ((by_kept_plan, anew),) = connection.execute(listed, [f"%{part}%"], prepare=False).fetchall()
        assert connection.execute("SHOW plan_cache_mode", prepare=False).fetchone() == ("auto",)
    assert by_kept_plan > 0
    assert anew <= most


def write_as_the_indexer_does(tx: Writer, message: Memory) -> None:
    writing.insert(tx, message)
    tx.index.turn_before(message)
    assert tx.memories.hold([message.id], wait=False) == {message.id}


@pytest.mark.parametrize("name", [HOSTILE, "'; DROP TABLE memories; --", "$1", "{}"])
def test_name_of_a_tenant_is_only_a_name_in_a_plan(one_connection: SqlStore, name: str) -> None:
    other = make_memory(new_tenant())
    one_connection.write(other.tenant, lambda tx: writing.insert(tx, other))
    for count in range(1, 13):
        memory = make_memory(name, kind=Kind.CHAT_MESSAGE, session="tea")
        assert one_connection.write(name, lambda tx, memory=memory: writing.insert(tx, memory)) is True
        ids = [memory.id, other.id]
        assert one_connection.read(name, lambda tx, ids=ids: tx.memories.get_many(ids), snapshot=False) == [memory]
        assert one_connection.read(name, lambda tx: tx.index.size("ada"), snapshot=False) == count
    assert one_connection.write(name, lambda tx: tx.memories.hold([memory.id, other.id])) == {memory.id}


@pytest.mark.parametrize("texts", [[], ["a"], ["", " b ", 'c"d', "e\\f", "{g,h}", "NULL", "\u00fc\n'"]])
def test_list_arrives_as_it_was_given(one_connection: SqlStore, texts: list[str]) -> None:
    listing = SqlStatement("listing", "A list.", "SELECT unnest(CAST(%(ids)s AS text[]))", ("ids",))
    given = {"ids": one_connection.driver.encode_list(texts)}
    for snapshot in (True, False):
        rows = one_connection.driver.read("*", lambda connection: connection.rows(listing, given), snapshot=snapshot)
        assert [row[0] for row in rows] == texts


def _pool(store: object) -> ConnectionPool[PooledConnection]:
    assert isinstance(store, SqlStore)
    assert isinstance(store.driver, PostgresDriver)
    return store.driver._pool


def _say(core: Core, whose: Principal, count: int) -> None:
    for number in range(count):
        core.ingestion.add_messages(whose, "tea", [Message("user", f"Teapot {number} is blue.")])


def _refused_write(core: Core, whose: Principal) -> None:
    core.memories.forget(whose, new_id("mem"))


def _refused_read(core: Core, whose: Principal) -> None:
    def work(tx: Reader) -> None:
        assert tx.memories.get(new_id("mem")) is None
        raise NotFound

    core.store.read(whose.tenant, work)


@with_partitions
@pytest.mark.parametrize("refused", [_refused_write, _refused_read])
def test_plans_are_made_again_after_something_was_refused(
    refused: Callable[[Core, Principal], None], postgres_url: str
) -> None:
    core = open_core(bare(postgres_url, pool_size=1), background=False)
    try:
        core.identity.create_tenant(tenant := new_tenant())
        ada = Principal(tenant, Role.USER, "ada")
        _say(core, ada, 12)
        with pytest.raises(NotFound):
            refused(core, ada)
        _say(core, ada, 12)
        with _pool(core.store).connection() as connection:
            assert connection.keeps_plans
            assert connection.plans.are_kept()
    finally:
        core.close()


@with_partitions
def test_write_whose_plan_the_server_lost_is_done_again(postgres_url: str) -> None:
    core = open_core(bare(postgres_url, pool_size=1), background=False)
    try:
        core.identity.create_tenant(tenant := new_tenant())
        ada = Principal(tenant, Role.USER, "ada")
        _say(core, ada, 12)
        with _pool(core.store).connection() as connection:
            connection.execute("DEALLOCATE ALL", prepare=False)
        _say(core, ada, 1)
    finally:
        core.close()


@with_partitions
def test_plan_that_is_one_too_many_may_be_lost_already(
    one_connection: SqlStore, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connections, "_MOST_PLANS", 1)
    for _ in range(7):
        alone(one_connection, tenant)
    with _pool(one_connection).connection() as connection:
        connection.execute("DEALLOCATE ALL", prepare=False)
    other = new_tenant()
    assert [len(alone(one_connection, other)) for _ in range(7)][-1] <= 1
