"""Cores with a cheap embedder and a judge of the test's choice, on a fresh tenant."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memorist.bootstrap import open_store
from memorist.core import Core
from memorist.models.port import Embedder
from memorist.options import Options
from memorist.testing import StepClock
from memorist.testing.clocks import START
from memorist.times import Clock
from tests.support.models import WordEmbedder
from tests.support.stores import bare

OpenCore = Callable[..., Core]


@pytest.fixture
def open_with(database_url: str, clock: StepClock) -> Iterator[OpenCore]:
    """Open cores on one database, each with the options that it is given."""
    opened: list[Core] = []

    def call(
        *,
        embedder: Embedder | None = None,
        url: str = database_url,
        clock: Clock = clock,
        background: bool = True,
        **options: Any,
    ) -> Core:
        store = open_store(bare(url))
        store.migrator.migrate(START)
        told = Options(embedder=lambda: embedder or WordEmbedder(), **options)
        core = Core(store, clock, told, background=background)
        opened.append(core)
        return core

    yield call
    for core in opened:
        core.close()


@pytest.fixture
def core(open_with: OpenCore) -> Core:
    return open_with()
