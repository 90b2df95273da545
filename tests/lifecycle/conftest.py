"""A tenant whose clock stands still, and a sweeper that does not rest."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.memories.sweeper import Sweep, Sweeper
from memorist.memories.values import Draft, Memory, Retention
from memorist.platform.values import Principal
from memorist.settings import Settings
from memorist.testing import FrozenClock


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def core(settings: Settings, clock: FrozenClock) -> Iterator[Core]:
    core = open_core(settings, clock=clock)
    yield core
    core.close()


@pytest.fixture
def remember(core: Core, ada: Principal) -> Callable[..., Memory]:
    """Write one memory that ages, and return it."""

    def call(content: str = "The kiln is hot.", **fields: Any) -> Memory:
        draft = Draft(content, **{"retention": Retention.POLICY, **fields})
        return core.memories.remember(ada, [draft])[0].memory

    return call


@pytest.fixture
def sweep(core: Core, tenant: str, clock: FrozenClock) -> Callable[[], Sweep]:
    sweeper = Sweeper(core.store, clock, core.policies, core.erasure, rest=lambda _: None)
    return lambda: sweeper.sweep(tenant)


@pytest.fixture
def enforce(core: Core, admin: Principal) -> Callable[..., None]:
    """Have the policy done, and not only observed; with other rules where they are given."""

    def call(**rules: Any) -> None:
        core.policies.change(admin, {"mode": "enforce", **rules})

    return call
