"""When a key was last used is known to within minutes, and nothing waits for its being written."""

from datetime import timedelta

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import StoreUnavailable, Unauthenticated
from memorist.memories.values import Draft
from memorist.platform.key_uses import NOTED_EVERY
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from memorist.store.keys import KeyStatements
from memorist.testing import StepClock
from tests.support.stores import bare, unwritable


@pytest.fixture
def background() -> bool:
    """Each test says when uses are written."""
    return False


def test_use_of_a_key_is_noted(core: Core, admin: Principal, clock: StepClock) -> None:
    key, secret = core.identity.create_key(admin, Role.SERVICE)
    unused, _ = core.identity.create_key(admin, Role.SERVICE)
    before = clock.now()
    core.identity.authenticate(secret)
    core.identity.authenticate(secret)
    core.key_uses.flush()
    used = {found.id: found.last_used_at for found in core.identity.list_keys(admin)}
    assert before < used[key.id] < clock.now()
    assert used[unused.id] is None


def test_refused_use_of_a_key_is_not_noted(core: Core, admin: Principal) -> None:
    key, secret = core.identity.create_key(admin, Role.SERVICE)
    core.identity.revoke_key(admin, key.id)
    with pytest.raises(Unauthenticated):
        core.identity.authenticate(secret)
    core.key_uses.flush()
    assert core.identity.list_keys(admin)[0].last_used_at is None


def test_key_that_is_used_all_the_time_is_written_every_few_minutes(
    core: Core, admin: Principal, clock: StepClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, secret = core.identity.create_key(admin, Role.SERVICE)
    writes: list[str] = []
    write = core.store.write
    used = []
    with monkeypatch.context() as patch:
        patch.setattr(core.store, "write", lambda *given, **named: (writes.append(given[0]), write(*given, **named))[1])
        for _ in range(20):
            core.identity.authenticate(secret)
            core.key_uses.flush()
            used.append(core.identity.list_keys(admin)[0].last_used_at)
            clock.advance(timedelta(minutes=1))
    assert len(writes) == 4
    assert len(set(used)) == 4
    assert used[-1] > clock.now() - NOTED_EVERY - timedelta(minutes=1)


def test_use_that_could_not_be_written_is_written_later(core: Core, admin: Principal, clock: StepClock) -> None:
    _, secret = core.identity.create_key(admin, Role.SERVICE)
    core.identity.authenticate(secret)
    with unwritable(core.store, admin.tenant), pytest.raises(StoreUnavailable):
        core.key_uses.flush()
    core.identity.authenticate(secret)
    before = clock.now()
    core.key_uses.flush()
    assert core.identity.list_keys(admin)[0].last_used_at == before - timedelta(milliseconds=1)


def test_keys_that_cannot_be_written_keep_no_reads_from_being_counted(
    core: Core, ada: Principal, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnavailable

    _, secret = core.identity.create_key(admin, Role.USER, user=ada.user)
    (told,) = core.memories.remember(ada, [Draft("Ada plays chess.")])
    monkeypatch.setattr(KeyStatements, "touch", refuse)
    caller = core.identity.authenticate(secret)
    assert core.recall.recall(caller, Question("chess")).hits
    core.accesses.flush()
    row = core.store.read(ada.tenant, lambda tx: tx.memories.get(told.memory.id))
    assert row is not None
    assert row.access_count == 1
    with pytest.raises(StoreUnavailable):
        core.key_uses.flush()


def test_closing_writes_when_keys_were_used(database_url: str, core: Core, admin: Principal) -> None:
    _, secret = core.identity.create_key(admin, Role.SERVICE)
    other = open_core(bare(database_url), background=False)
    other.identity.authenticate(secret)
    other.close()
    assert core.identity.list_keys(admin)[0].last_used_at is not None
