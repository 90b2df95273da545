"""Real databases for every test: SQLite files, and one PostgreSQL server for the whole run."""

import gc
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from memorist.bootstrap import open_core, open_store
from memorist.core import Core
from memorist.memories.values import Draft, Memory
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.store.sql_store import SqlStore
from memorist.testing import StepClock, new_tenant
from memorist.testing.clocks import START
from tests.support.postgres import Postgres, few_partitions, running_postgres
from tests.support.stores import bare

# A shell starts its background jobs with Ctrl-C ignored, and the programs that the tests interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Hundreds of processes are started here, each of which would compile all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Every commit waits for the disk, and there are hundreds of thousands: where memory is plenty, files live there.
_MEMORY = Path("/dev/shm")
if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# Nobody here speaks TLS, and every HTTP client would read the certificates of all authorities there are. Here are none.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)

hypothesis.settings.register_profile(
    "memorist",
    deadline=None,
    database=None,
    # The same examples every time, so that a change is judged by itself; NEW_EXAMPLES=1 looks for others.
    derandomize=not os.environ.get("NEW_EXAMPLES"),
    print_blob=True,
    # Shrinking a long sequence of calls on a real database takes many minutes; the failing one is told at once.
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    # Each example makes a tenant of its own, so that sharing the database between examples is no problem.
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("memorist")


# Those that take longest begin first: a worker that is left alone with one of them at the end would be waited for.
_LONGEST = (
    "lifecycle/test_state_machine.py",
    "turns/test_interruptions.py",
    "erasure/test_kills.py",
    "store/test_kills.py",
    "torture/test_short.py",
    "docs/test_examples.py",
    "http/test_isolation.py",
    "store/test_conformance.py",
)

# What `make check` leaves to `make test`, besides all that needs PostgreSQL: servers, browsers, processes, models.
_SLOW = (
    "about/test_about.py",
    "about/test_doors.py",
    "adapters",
    "audit/test_doors.py",
    "benchmarks",
    "cli",
    "client",
    "contracts/test_agent_tools.py",
    "contracts/test_coding_assistant.py",
    "contracts/test_companion.py",
    "contracts/test_lifecycle.py",
    "contracts/test_profiles.py",
    "core/test_transfer.py",
    "dashboard",
    "distribution/test_packages.py",
    "distribution/test_site.py",
    "docs/test_examples.py",
    "documents",
    "erasure/test_kills.py",
    "facts/test_llm_judge.py",
    "http",
    "importers",
    "install",
    "lifecycle/test_concurrency.py",
    "lifecycle/test_state_machine.py",
    "mcp",
    "models",
    "observing",
    "recall/test_concurrency.py",
    "recall/test_real_models.py",
    "recall/test_recall_with_remote.py",
    "recall/test_remote.py",
    "secrets/test_doors.py",
    "store/test_faults.py",
    "store/test_kills.py",
    "store/test_sealed_conformance.py",
    "store/test_sqlite.py",
    "torture",
    "training",
    "turns",
    "typescript",
)
_ROOT = Path(__file__).parent
_SLOW_PATHS = {_ROOT / name for name in _SLOW}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """All that is imported stays: looking through it for garbage, now or in a test, is for nothing."""
    gc.disable()
    result = yield
    gc.enable()
    gc.freeze()
    return result


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is slow as a whole is not even imported where it is left out."""
    return True if config.option.markexpr == "not slow" and collection_path in _SLOW_PATHS else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if missing := [name for name in (*_LONGEST, *_SLOW) if not (_ROOT / name).exists()]:
        raise pytest.UsageError(f"tests/conftest.py names what is not there: {missing}")
    order = {_ROOT / name: index for index, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))
    slow = {path for path in {item.path for item in items} if not _SLOW_PATHS.isdisjoint((path, *path.parents))}
    for item in items:
        if _needs_postgres(item):
            item.add_marker("postgres")
            item.add_marker("slow")
        elif item.path in slow:
            item.add_marker("slow")


def _needs_postgres(item: pytest.Item) -> bool:
    """Whether it asks for the server by the name of a fixture, or by that of a parameter."""
    return "postgres" in getattr(item, "fixturenames", ()) or "postgres" in item.name.partition("[")[2]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The server. Databases on it belong to a role that is no superuser."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> str:
    """The name of a migrated database that nobody uses, to copy."""
    name = postgres.create_database()
    with few_partitions():
        open_core(bare(postgres.url(name))).close()
    return name


@pytest.fixture(scope="session")
def postgres_url(postgres: Postgres, postgres_template: str) -> str:
    """A migrated database that all tests share. tests/store/test_postgres.py has one with all partitions."""
    return postgres.url(postgres.create_database(template=postgres_template))


@pytest.fixture
def own_postgres(postgres: Postgres, postgres_template: str) -> Iterator[str]:
    """The name of a migrated database of one test's own."""
    name = postgres.create_database(template=postgres_template)
    yield name
    postgres.drop_database(name)


@pytest.fixture
def own_postgres_url(postgres: Postgres, own_postgres: str) -> str:
    return postgres.url(own_postgres)


@pytest.fixture
def new_postgres(postgres: Postgres) -> Iterator[str]:
    """The name of an empty database of one test's own. Who migrates it in this process makes few partitions, which a
    migration treats alike; other processes make all of them.
    """
    name = postgres.create_database()
    with few_partitions():
        yield name
    postgres.drop_database(name)


@pytest.fixture
def new_postgres_url(postgres: Postgres, new_postgres: str) -> str:
    return postgres.url(new_postgres)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A file that does not exist yet."""
    return str(tmp_path / "data" / "memorist.db")


@pytest.fixture
def new_sqlite_url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file to copy."""
    path = tmp_path_factory.mktemp("template") / "memorist.db"
    open_core(bare(str(path))).close()
    return path


@pytest.fixture
def own_sqlite_url(sqlite_url: str, sqlite_template: Path) -> str:
    """A migrated file."""
    Path(sqlite_url).parent.mkdir(mode=0o700)
    shutil.copy(sqlite_template, sqlite_url)
    return sqlite_url


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A migrated database. Each test that asks for this runs on both; the one of PostgreSQL is shared."""
    url: str = request.getfixturevalue("own_sqlite_url" if request.param == "sqlite" else "postgres_url")
    return url


@pytest.fixture(params=["sqlite", "postgres"])
def own_database_url(request: pytest.FixtureRequest) -> str:
    """The same, but nobody else's."""
    url: str = request.getfixturevalue(f"own_{request.param}_url")
    return url


@pytest.fixture(params=["sqlite", "postgres"])
def new_database_url(request: pytest.FixtureRequest) -> str:
    """A database with nothing in it yet, not even the tables."""
    url: str = request.getfixturevalue(f"new_{request.param}_url")
    return url


@pytest.fixture
def settings(database_url: str) -> Settings:
    # Models cost seconds, and most tests are not about meaning: those that are ask for `models` (tests/recall).
    return bare(database_url)


@pytest.fixture
def store(settings: Settings) -> Iterator[SqlStore]:
    store = open_store(settings)
    store.migrator.migrate(START)
    yield store
    store.close()


@pytest.fixture
def clock() -> StepClock:
    return StepClock()


@pytest.fixture
def background() -> bool:
    """Whether the core works by itself; a module whose tests say when things are done overrides this."""
    return True


@pytest.fixture
def core(settings: Settings, clock: StepClock, background: bool) -> Iterator[Core]:
    core = open_core(settings, clock=clock, background=background)
    yield core
    core.close()


@pytest.fixture
def tenant(core: Core) -> str:
    """A tenant that nobody else uses."""
    tenant, is_new = core.identity.create_tenant(new_tenant())
    assert is_new
    return tenant.id


@pytest.fixture
def ada(tenant: str) -> Principal:
    return Principal(tenant, Role.USER, "ada")


@pytest.fixture
def bob(tenant: str) -> Principal:
    return Principal(tenant, Role.USER, "bob")


@pytest.fixture
def admin(tenant: str) -> Principal:
    """An admin that acts for nobody."""
    return Principal(tenant, Role.ADMIN)


@pytest.fixture
def remember(core: Core) -> Callable[..., Memory]:
    """Write one memory and return it."""

    def call(principal: Principal, content: str = "a text", **fields: Any) -> Memory:
        return core.memories.remember(principal, [Draft(content, **fields)])[0].memory

    return call


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers, the same in every run; `TEST_SEED` gives others."""
    return random.Random(f"{os.environ.get('TEST_SEED', '')} {request.node.nodeid}")
