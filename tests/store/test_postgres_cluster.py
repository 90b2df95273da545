"""What only a cluster of Citus can show: nodes that are killed or gone, and shards that move while they are written."""

import json
import secrets
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

import httpx2
import psycopg
import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.erasure.values import ErasureStatus
from memorist.errors import MemoristError, StoreError, StoreUnavailable
from memorist.memories.values import Draft
from memorist.platform.feed import START, changes
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from tests.cli.conftest import EXECUTABLE
from tests.http.conftest import serving
from tests.support.citus import Citus, Node
from tests.support.postgres import CITUS, Postgres, few_partitions
from tests.support.stores import MASTER_KEY, bare
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(not CITUS, reason="needs a cluster: make citus CITUS_SOURCE=folder")


@pytest.fixture
def cluster(postgres: Postgres) -> Citus:
    assert isinstance(postgres, Citus)
    return postgres


def principal(tenant: str) -> Principal:
    return Principal(tenant, Role.ADMIN, "ada")


def tenant_on(core: Core, cluster: Citus, database: str, node: Node) -> str:
    """A new tenant whose rows are on a node."""
    name = next(name for name in (f"t-{number}" for number in range(1000)) if cluster.worker_of(database, name) == node)
    core.identity.create_tenant(name)
    return name


class Writers:
    """Remember one memory after the other for each tenant, until they are stopped."""

    def __init__(self, core: Core, tenants: list[str]) -> None:
        self.stored: dict[str, set[str]] = {tenant: set() for tenant in tenants}
        self.refused: list[MemoristError] = []
        self._core = core
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(tenant,)) for tenant in tenants]

    def __enter__(self) -> "Writers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def go_on(self, count: int) -> None:
        """Wait until each tenant has so many more."""
        aims = {tenant: len(stored) + count for tenant, stored in self.stored.items()}
        eventually(lambda: all(len(self.stored[tenant]) >= aim for tenant, aim in aims.items()))

    def _write(self, tenant: str) -> None:
        number = 0
        while not self._stopping.is_set():
            number += 1
            try:
                (told,) = self._core.memories.remember(principal(tenant), [Draft(f"Memory number {number}.")])
            except StoreError as error:
                self.refused.append(error)
            else:
                self.stored[tenant].add(told.memory.id)


RECALL: dict[str, object] = {"query": "What does Ada play?"}

COUNT_TRANSACTIONS = """
DO $$ BEGIN
    FOR number IN 1..5000 LOOP
        PERFORM pg_current_xact_id();
        COMMIT;
    END LOOP;
END $$
"""


def require_all(core: Core, writers: Writers) -> None:
    """Whatever was acknowledged can be read, and no row lacks what belongs to it."""
    for tenant, stored in writers.stored.items():
        for memory_id in stored:
            assert core.memories.get(principal(tenant), memory_id).id == memory_id
    assert set(core.store.check(thorough=False).values()) == {"ok"}


@contextmanager
def own_core(url: str) -> Iterator[Core]:
    core = open_core(bare(url, pool_size=6, pool_timeout_s=5))
    try:
        yield core
    finally:
        core.close()


@contextmanager
def down(node: Node) -> Iterator[None]:
    node.kill()
    try:
        yield
    finally:
        node.start()


@pytest.mark.parametrize("which", [0, 1], ids=["coordinator", "worker"])
def test_killed_node_loses_nothing_that_was_acknowledged(
    cluster: Citus, own_postgres: str, own_postgres_url: str, which: int
) -> None:
    node = cluster.nodes[which]
    with own_core(own_postgres_url) as core:
        tenants = [tenant_on(core, cluster, own_postgres, worker) for worker in cluster.workers]
        with Writers(core, tenants) as writers:
            for _ in range(2):
                writers.go_on(10)
                with down(node):
                    eventually(lambda: writers.refused)
            writers.go_on(10)
        assert [error.message for error in writers.refused if type(error) is not StoreUnavailable] == []
        require_all(core, writers)


def test_worker_that_is_down_is_missed_by_its_own_tenants_alone(
    cluster: Citus, own_postgres: str, own_postgres_url: str
) -> None:
    gone, other = cluster.workers
    with serving(bare(own_postgres_url, port=0, pool_timeout_s=5)) as served:
        theirs, ours = (tenant_on(served.core, cluster, own_postgres, node) for node in (gone, other))
        with served.client(theirs) as missing, served.client(ours) as kept:
            for client in (missing, kept):
                assert client.post("/v1/records", json={"content": "Ada plays chess."}).status_code == 201
            assert httpx2.get(f"{served.url}/readyz").json() == {"status": "ready"}
            with down(gone):
                for path, body in (("/v1/records/recall", RECALL), ("/v1/records", {"content": "Ada plays go."})):
                    answer = missing.post(path, json=body)
                    assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
                    assert kept.post(path, json=body).is_success
                (warning,) = httpx2.get(f"{served.url}/readyz").json()["warnings"]
                assert f"127.0.0.1:{gone.port}" in warning
                assert f":{other.port}" not in warning
            assert missing.post("/v1/records/recall", json=RECALL).is_success
            assert httpx2.get(f"{served.url}/readyz").json() == {"status": "ready"}


@pytest.mark.parametrize("which", [0, 1])
def test_encrypted_tenants_of_other_workers_write_on(
    cluster: Citus, own_postgres: str, own_postgres_url: str, which: int
) -> None:
    """Citus has one of the workers hold the locks on rows that every node has."""
    gone, other = cluster.workers[which], cluster.workers[1 - which]
    core = open_core(bare(own_postgres_url, encryption_key=MASTER_KEY, pool_timeout_s=5))
    with closing(core):
        tenant = tenant_on(core, cluster, own_postgres, other)
        with down(gone):
            core.memories.remember(principal(tenant), [Draft("Ada plays chess.")])
            assert core.recall.recall(principal(tenant), Question("chess")).hits


def test_recall_goes_on_without_what_every_node_has_to_write(
    cluster: Citus, own_postgres: str, own_postgres_url: str
) -> None:
    """Also the first one of a tenant that another release has left; what was to be noted is noted later."""
    gone, other = cluster.workers
    with own_core(own_postgres_url) as core:
        tenant = tenant_on(core, cluster, own_postgres, other)
        _, secret = core.identity.create_key(principal(tenant), Role.ADMIN)
        (told,) = core.memories.remember(principal(tenant), [Draft("Ada plays chess.")])
    with own_core(own_postgres_url) as core:
        assert core.store.index_model(tenant) == ""
        with down(gone):
            for _ in range(2):
                caller = replace(core.identity.authenticate(secret), user="ada")
                assert core.recall.recall(caller, Question("chess")).hits
            core.accesses.flush()
            assert core.memories.get(caller, told.memory.id).access_count == 3
            with pytest.raises(StoreUnavailable):
                core.key_uses.flush()
            assert core.store.index_model(tenant) == ""
        core.key_uses.flush()
        assert core.identity.list_keys(principal(tenant))[0].last_used_at is not None
        eventually(lambda: core.store.index_model(tenant) != "")


@pytest.mark.parametrize("which", [0, 1], ids=["coordinator", "workers"])
def test_what_is_new_is_found_at_once_whoever_is_ahead_in_counting_transactions(
    cluster: Citus, own_postgres: str, own_postgres_url: str, which: int
) -> None:
    """Each node counts its own: by how much they differ says nothing about what came first."""
    ahead = cluster.workers if which else [cluster.coordinator]
    with own_core(own_postgres_url) as writer, own_core(own_postgres_url) as reader:
        tenants = [tenant_on(writer, cluster, own_postgres, worker) for worker in cluster.workers]
        for node in ahead:
            node.execute(own_postgres, COUNT_TRANSACTIONS)
        for number in range(3):
            for tenant in tenants:
                ada = principal(tenant)
                (told,) = writer.memories.remember(ada, [Draft(f"Ada plays game {number}.")])
                hits = reader.recall.recall(ada, Question(f"game {number}", top_k=1)).hits
                assert [hit.memory.id for hit in hits] == [told.memory.id]
                assert list(changes(reader.feed, lambda ada=ada: ada, START, wait=0))[-1].memory_id == told.memory.id
            for node in ahead:
                node.execute(own_postgres, COUNT_TRANSACTIONS)


@contextmanager
def asking(client: httpx2.Client, path: str, body: dict[str, object]) -> Iterator[list[httpx2.Response]]:
    """Ask again and again meanwhile. The answers so far."""
    answers: list[httpx2.Response] = []
    stopping = threading.Event()

    def ask() -> None:
        while not stopping.is_set():
            answers.append(client.post(path, json=body))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answers
    finally:
        stopping.set()
        thread.join()


def test_worker_that_hangs_is_waited_for_by_nobody(cluster: Citus, own_postgres: str, own_postgres_url: str) -> None:
    """Its tenants ask more than there are connections, which had all asked that worker before."""
    gone, other = cluster.workers
    with serving(bare(own_postgres_url, port=0, pool_size=4, pool_timeout_s=20)) as served, ExitStack() as stack:
        theirs, ours = (tenant_on(served.core, cluster, own_postgres, node) for node in (gone, other))
        missing, kept = (stack.enter_context(served.client(one)) for one in (theirs, ours))
        for client in (missing, kept):
            assert client.post("/v1/records", json={"content": "Ada plays chess."}).status_code == 201
        asked = [stack.enter_context(asking(missing, "/v1/records/recall", RECALL)) for _ in range(8)]
        eventually(lambda: all(len(answers) > 3 for answers in asked))
        with gone.hanging():
            for number in range(30):
                assert kept.post("/v1/records/recall", json=RECALL).is_success
                assert kept.post("/v1/records", json={"content": f"Ada plays {number}."}).is_success
            eventually(lambda: all(answers[-1].status_code == 503 for answers in asked))
            assert {answers[-1].json()["code"] for answers in asked} == {"store_unavailable"}
            # What every node has cannot be written now, by nobody.
            with pytest.raises(StoreUnavailable):
                served.key(ours, Role.USER, "bob")
            assert kept.post("/v1/records/recall", json=RECALL).is_success
        eventually(lambda: all(answers[-1].status_code == 200 for answers in asked))
        assert {answer.status_code for answers in asked for answer in answers} == {200, 503}
        assert served.core.store.queues()["pool_size"] <= 4


def test_worker_that_hangs_keeps_no_server_from_being_ready(cluster: Citus, own_postgres_url: str) -> None:
    gone, _ = cluster.workers

    def warnings() -> list[str]:
        answer = httpx2.get(f"{served.url}/readyz")
        assert answer.status_code == 200
        return list(answer.json().get("warnings", []))

    with serving(bare(own_postgres_url, port=0)) as served:
        assert warnings() == []
        with gone.hanging():
            eventually(warnings)
            (warning,) = warnings()
            assert f"127.0.0.1:{gone.port}," in warning
        eventually(lambda: not warnings())


def test_erasure_with_a_worker_down_removes_what_it_is_for_and_is_finished_later(
    cluster: Citus, own_postgres: str, own_postgres_url: str
) -> None:
    """Each node has the files of its own shards written over."""
    gone, other = cluster.workers
    with own_core(own_postgres_url) as core:
        ada = principal(tenant_on(core, cluster, own_postgres, other))
        core.memories.remember(ada, [Draft("Ada plays chess.")])
        with down(gone):
            with pytest.raises(StoreUnavailable):
                core.erasure.reset(ada)
            assert not core.memories.list(ada).items
        core.erasure.resume(ada.tenant)
        assert [receipt.status for receipt in core.erasure.receipts(ada)] == [ErasureStatus.DONE]


# Shards that move


@pytest.fixture
def two_roles(cluster: Citus) -> Iterator[tuple[str, Citus, Citus]]:
    """A database, the cluster as who owns its tables, which replication writes as, and as who serves from them."""
    mark = secrets.token_hex(4)
    owner, server = (replace(cluster, role=f"memorist_test_{name}_{mark}") for name in ("owner", "server"))
    for node in cluster.nodes:
        node.execute("postgres", "CREATE ROLE {} LOGIN BYPASSRLS", owner.role)
        node.execute("postgres", "CREATE ROLE {} LOGIN", server.role)
    database = owner.create_database()
    for given in ("SELECT, INSERT, UPDATE, DELETE, MAINTAIN ON TABLES", "USAGE ON SEQUENCES"):
        grant = f"ALTER DEFAULT PRIVILEGES FOR ROLE {{}} GRANT {given} TO {{}}"
        cluster.coordinator.execute(database, grant, owner.role, server.role)
    with few_partitions():
        open_core(bare(owner.url(database))).close()
    yield database, owner, server
    cluster.drop_database(database)


def crowd(cluster: Citus, database: str) -> None:
    """Move all shards to the first worker."""
    first, second = cluster.workers
    found = cluster.coordinator.execute(
        database,
        "SELECT shardid FROM citus_shards WHERE table_name = 'memories'::regclass "
        f"AND nodeport = {second.port} ORDER BY shardid",
    )
    for (shard,) in found:
        cluster.coordinator.execute(
            database,
            f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {second.port}, '127.0.0.1', {first.port}, "
            "shard_transfer_mode => 'block_writes')",
        )


def test_shards_are_rebalanced_while_they_are_written(cluster: Citus, two_roles: tuple[str, Citus, Citus]) -> None:
    database, _, server = two_roles
    crowd(cluster, database)
    with serving(bare(server.url(database), port=0)) as served, ExitStack() as stack:
        core = served.core
        tenants = [f"t-{number}" for number in range(4)]
        for tenant in tenants:
            core.identity.create_tenant(tenant)
            core.memories.remember(principal(tenant), [Draft("Ada plays chess.")])
        answers = []
        with Writers(core, tenants) as writers, ExitStack() as callers:
            for tenant in tenants:
                client = stack.enter_context(served.client(tenant))
                for path, body in (("/v1/records/recall", RECALL), ("/v1/records", {"content": "Ada plays go."})):
                    answers.append(callers.enter_context(asking(client, path, body)))

            def all_go_on() -> None:
                counts = [len(one) for one in answers]
                writers.go_on(5)
                eventually(lambda: all(len(one) > before + 5 for one, before in zip(answers, counts, strict=True)))

            all_go_on()
            ((job,),) = cluster.coordinator.execute(database, "SELECT citus_rebalance_start()")
            cluster.coordinator.execute(database, f"SELECT citus_job_wait({job})")
            all_go_on()
        asked = f"SELECT state::text FROM pg_dist_background_job WHERE job_id = {job}"
        assert cluster.coordinator.execute(database, asked) == [("finished",)]
        assert len({cluster.worker_of(database, f"t-{number}") for number in range(100)}) == 2
        assert writers.refused == []
        assert all(answer.is_success for one in answers for answer in one)
        longest = max(answer.elapsed.total_seconds() for one in answers for answer in one)
        print(f"The longest request took {longest:.1f} s.")
        require_all(core, writers)


def test_operator_is_told_of_what_a_cluster_lacks(
    cluster: Citus, own_postgres_url: str, two_roles: tuple[str, Citus, Citus], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(url: str) -> list[str]:
        monkeypatch.setenv("MEMORIST_DATABASE", url)
        status = json.loads(run("db", "status", "--json").stdout)
        checks = json.loads(run("doctor", "--json").stdout)["checks"]
        assert [one["message"] for one in checks if one["check"] == "cluster"] == status["warnings"]
        return list(status["warnings"])

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([EXECUTABLE, *command], capture_output=True, text=True)

    database, owner, server = two_roles
    monkeypatch.setenv("MEMORIST_EMBEDDER", "off")
    monkeypatch.setenv("MEMORIST_RERANKER", "off")
    assert told(server.url(database)) == told(owner.url(database)) == []
    (warning,) = told(own_postgres_url)
    assert "BYPASSRLS" in warning
    assert cluster.role in warning
    gone, _ = cluster.workers
    with down(gone):
        (warning,) = told(server.url(database))
        assert f"127.0.0.1:{gone.port}" in warning


def test_who_serves_from_tables_of_another_sees_one_tenant_at_a_time(two_roles: tuple[str, Citus, Citus]) -> None:
    database, owner, server = two_roles
    with own_core(server.url(database)) as core:
        core.identity.create_tenant("t")
        core.memories.remember(principal("t"), [Draft("Ada plays chess.")])
        assert core.recall.recall(principal("t"), Question("chess")).hits
        assert (_count(owner.url(database)), _count(server.url(database))) == (1, 0)
        assert core.erasure.purge_user(principal("t"), "ada").memories == 1
    assert _count(owner.url(database)) == 0


def _count(url: str) -> int:
    """How many memories somebody sees who names no tenant."""
    with psycopg.connect(url) as connection:
        ((found,),) = connection.execute("SELECT count(*) FROM memories").fetchall()
    return int(found)
