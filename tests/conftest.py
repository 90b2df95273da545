"""Real databases for every test: SQLite files, and one PostgreSQL server for the whole run."""

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from memorist.bootstrap import open_core, open_store
from memorist.core import Core
from memorist.settings import Settings
from memorist.store.sql_store import SqlStore
from memorist.testing import StepClock, new_tenant
from memorist.testing.clocks import START
from tests.support.postgres import Postgres, running_postgres
from tests.support.stores import bare

# A shell starts its background jobs with Ctrl-C ignored, and the programs that the tests interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile(
    "memorist",
    deadline=None,
    database=None,
    print_blob=True,
    # Shrinking a long sequence of calls on a real database takes many minutes; the failing one is told at once.
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    # Each example makes a tenant of its own, so that sharing the database between examples is no problem.
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("memorist")


# With several workers the whole run ends when the last file does: those that take minutes begin first.
_LONGEST = (
    "lifecycle/test_state_machine.py",
    "turns/test_interruptions.py",
    "erasure/test_kills.py",
    "store/test_kills.py",
    "docs/test_examples.py",
    "http/test_isolation.py",
    "store/test_conformance.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    root = Path(__file__).parent
    order = {str(root / name): place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: order.get(str(item.path), len(order)))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The server. Databases on it belong to a role that is no superuser."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(postgres: Postgres) -> str:
    """A migrated database that all tests share."""
    url = postgres.url(postgres.create_database())
    open_core(bare(url)).close()
    return url


@pytest.fixture
def new_postgres(postgres: Postgres) -> Iterator[str]:
    """The name of an empty database of one test's own."""
    name = postgres.create_database()
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


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Each test that asks for this runs on both databases."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(params=["sqlite", "postgres"])
def new_database_url(request: pytest.FixtureRequest) -> str:
    """The same, but nothing is in it yet, not even the tables."""
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
def rng() -> random.Random:
    """Random numbers whose seed is printed when the test fails."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    return random.Random(seed)
