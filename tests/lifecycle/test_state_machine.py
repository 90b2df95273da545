"""Random lives against a model, on both databases, with a clock that moves when it is told to."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.testing import FrozenClock
from tests.lifecycle.world import STEPS, Step, World
from tests.support.stores import bare

# The rules are one code for both, and a life takes five times as long on PostgreSQL: `make lifecycle` lives more.
SEQUENCES = {"sqlite": 500, "postgres": 150}
ASKED_FOR = os.environ.get("LIFECYCLE_SEQUENCES")


@pytest.fixture(scope="module")
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(scope="module")
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, clock: FrozenClock
) -> Iterator[Core]:
    """One store for all sequences, each of which has a tenant of its own."""
    folder: Path = tmp_path_factory.mktemp("lives")
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else str(folder / "memorist.db")
    # Nobody counts reads in the background: a sweep leaves rows to the next one that somebody is writing at the moment.
    core = open_core(bare(url), clock=clock, background=False)
    if request.param == "sqlite":
        # Tens of thousands of commits; whether they reach the disk is tested elsewhere.
        core.store.driver._writer.execute("PRAGMA synchronous = OFF").fetchall()  # type: ignore[attr-defined]
    yield core
    core.close()


@pytest.mark.parametrize("shared", ["sqlite", "postgres"], indirect=True)
def test_every_life_is_as_the_model_has_it(shared: Core, clock: FrozenClock, request: pytest.FixtureRequest) -> None:
    count = int(ASKED_FOR or SEQUENCES[request.node.callspec.params["shared"]])

    @hypothesis_settings(max_examples=count, suppress_health_check=list(HealthCheck))
    @given(steps=STEPS)
    def live(steps: list[Step]) -> None:
        World(shared, clock).run(steps)

    live()
