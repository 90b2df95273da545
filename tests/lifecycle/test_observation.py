"""The tenant's retention observes in its first days and then acts; what the lifecycle API keeps ages from the first."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.memories.policies import revision_to_record
from memorist.memories.policy import Mode
from memorist.memories.sweeper import Sweep
from memorist.memories.values import Governor, Kind, Memory, Status
from memorist.platform.values import Principal
from memorist.settings import Settings
from memorist.testing import FrozenClock
from memorist.testing.clocks import START
from memorist.times import to_iso

DAY = timedelta(days=1)
Sweeping = Callable[[], Sweep]
Remember = Callable[..., Memory]


@pytest.fixture(autouse=True)
def short_windows(core: Core, admin: Principal) -> None:
    core.policies.change(admin, {"active_days": 1, "archive_days": 1, "grace_days": 1, "anonymize_after_days": 1})


def status(core: Core, memory: Memory) -> Status | None:
    found = core.store.read(memory.tenant, lambda tx: tx.memories.get(memory.id))
    return None if found is None else found.status


def test_nothing_but_the_lifecycle_apis_ages_in_the_observation_window(
    core: Core, clock: FrozenClock, remember: Remember, sweep: Sweeping
) -> None:
    promised = remember(governed_by=Governor.LIFECYCLE)
    said = remember("hello", kind=Kind.CHAT_MESSAGE)
    clock.advance(DAY)
    found = sweep()
    assert (found.mode, found.done) == (Mode.OBSERVE, {"archived": {"fact": 1}})
    assert found.due == {"archived": {"chat_message": 1}}
    assert (status(core, promised), status(core, said)) == (Status.ARCHIVED, Status.ACTIVE)
    clock.advance(DAY)
    assert sweep().done == {"deleted": {"fact": 1}}
    clock.advance(DAY)
    assert sweep().done == {"hard_delete_pending": {"fact": 1}}
    clock.advance(DAY)
    assert sweep().done == {"purged": {"fact": 1}}
    assert status(core, promised) is None


def test_retention_acts_once_the_window_is_over(
    core: Core, clock: FrozenClock, remember: Remember, sweep: Sweeping, ada: Principal
) -> None:
    said = remember("hello", kind=Kind.CHAT_MESSAGE)
    older = core.facts.remember(ada, "Ada lives in Lyon.").memory
    core.facts.remember(ada, "Ada lives in Oslo.")
    clock.advance(14 * DAY - timedelta(microseconds=1))
    assert sweep().done == {}
    clock.advance(timedelta(microseconds=1))
    found = sweep()
    assert (found.mode, found.done) == (
        Mode.ENFORCE,
        {"anonymized": {"fact": 1}, "archived": {"chat_message": 1}},
    )
    assert (status(core, said), status(core, older)) == (Status.ARCHIVED, Status.ARCHIVED)


def test_policy_says_when_the_window_ends(core: Core, admin: Principal, clock: FrozenClock) -> None:
    revision = core.policies.get(admin)
    assert (revision.policy.mode, revision.acts_from) == (Mode.AUTO, START + 14 * DAY)
    assert revision_to_record(revision)["acts_from"] == to_iso(START + 14 * DAY)
    assert core.overview.waiting(admin).acts_from == START + 14 * DAY
    core.policies.change(admin, {"mode": "enforce"})
    assert core.policies.get(admin).acts_from is None
    clock.advance(DAY)


def test_mode_that_somebody_set_is_theirs_in_the_window_and_after(
    core: Core, clock: FrozenClock, remember: Remember, sweep: Sweeping, enforce: Callable[..., None]
) -> None:
    memory = remember()
    enforce()
    clock.advance(DAY)
    assert sweep().done == {"archived": {"fact": 1}}
    enforce(mode="observe")
    clock.advance(100 * DAY)
    assert sweep().done == {}
    assert status(core, memory) is Status.ARCHIVED


def test_window_is_a_setting(settings: Settings, clock: FrozenClock, tenant: str) -> None:
    from dataclasses import replace

    core = open_core(replace(settings, observation_days=0), clock=clock)
    try:
        assert core.sweeper.sweep(tenant).mode is Mode.ENFORCE
    finally:
        core.close()


@pytest.mark.parametrize("door", [Governor.COMPANION, Governor.PROFILE, Governor.CODING_ASSISTANT])
def test_what_other_doors_keep_neither_ages_nor_is_anonymized(
    core: Core,
    clock: FrozenClock,
    remember: Remember,
    sweep: Sweeping,
    ada: Principal,
    enforce: Callable[..., None],
    door: Governor,
) -> None:
    from dataclasses import replace

    from memorist.memories import writing

    kept = remember(governed_by=door)
    retired = remember("Once true.", governed_by=door)
    after = replace(retired, status=Status.ARCHIVED, superseded_by=kept.id)
    core.store.write(ada.tenant, lambda tx: writing.replace(tx, after, retired.updated_at))
    enforce()
    clock.advance(1000 * DAY)
    assert (sweep().done, sweep().due) == ({}, {})
    assert core.memories.get(ada, retired.id).content == "Once true."
