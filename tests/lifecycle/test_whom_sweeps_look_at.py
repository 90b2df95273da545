"""Whom a server's sweeper looks at: whoever has something due, and nobody else."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from memorist.core import Core
from memorist.memories.sweeper import Sweep
from memorist.memories.values import Memory
from memorist.platform.values import Principal
from memorist.testing import FrozenClock
from tests.lifecycle.test_sweeper import retire

DAY = timedelta(days=1)
Enforce = Callable[..., None]


@pytest.fixture
def is_looked_at(core: Core, tenant: str, clock: FrozenClock) -> Callable[[], bool]:
    del clock  # It is the core's.
    return lambda: tenant in set(core.sweeper._due())


@pytest.fixture(autouse=True)
def known(core: Core, tenant: str) -> None:
    core.identity.create_tenant(tenant)


def test_nobody_is_looked_at_before_a_deadline(
    clock: FrozenClock, remember: Callable[..., Memory], sweep: Callable[[], Sweep], is_looked_at: Callable[[], bool]
) -> None:
    remember()
    assert not is_looked_at()
    clock.advance(89 * DAY)
    assert not is_looked_at()
    clock.advance(DAY)
    assert is_looked_at()
    assert sweep().done == {"archived": {"fact": 1}}
    assert not is_looked_at()


@pytest.mark.parametrize(("days", "before", "after"), [(30, 29, 31), (2, 0, 3), (60, 29, 61)])
def test_retired_facts_are_looked_for_whatever_the_tenants_policy_waits(
    core: Core,
    clock: FrozenClock,
    ada: Principal,
    sweep: Callable[[], Sweep],
    enforce: Enforce,
    is_looked_at: Callable[[], bool],
    days: int,
    before: int,
    after: int,
) -> None:
    enforce(anonymize_after_days=days)
    sweep()
    retire(core, ada, clock)
    clock.advance(before * DAY)
    # Who anonymizes sooner than others is looked at every time.
    assert is_looked_at() is (days < 30)
    assert sweep().done == {}
    clock.advance((after - before) * DAY)
    assert is_looked_at()
    assert sweep().done == {"anonymized": {"fact": 1}}


def test_changed_policy_is_settled_by_the_next_sweep(
    core: Core,
    admin: Principal,
    remember: Callable[..., Memory],
    sweep: Callable[[], Sweep],
    is_looked_at: Callable[[], bool],
) -> None:
    remember()
    sweep()
    assert not is_looked_at()
    core.policies.change(admin, {"active_days": 10})
    assert is_looked_at()
    sweep()
    assert not is_looked_at()


def test_report_of_what_was_due_is_made_anew_until_nothing_is(
    core: Core,
    clock: FrozenClock,
    ada: Principal,
    admin: Principal,
    remember: Callable[..., Memory],
    sweep: Callable[[], Sweep],
    enforce: Enforce,
    is_looked_at: Callable[[], bool],
) -> None:
    memory = remember()
    enforce(mode="observe")
    clock.advance(91 * DAY)
    assert sweep().due == {"archived": {"fact": 1}}
    assert is_looked_at()
    core.erasure.erase(ada, [memory.id])
    assert is_looked_at()
    sweep()
    assert core.sweeper.report(admin)["due"] == {}
    assert not is_looked_at()
