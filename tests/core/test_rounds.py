"""Whom background workers look at: what they are told of at once, everybody else in turns."""

from collections.abc import Iterator

import pytest

from memorist.bootstrap import open_store
from memorist.errors import StoreUnavailable
from memorist.platform.rounds import Rounds
from memorist.platform.values import Tenant
from memorist.store.sql_store import SqlStore
from memorist.testing.clocks import START
from tests.support.stores import bare


@pytest.fixture
def new_store(own_database_url: str) -> Iterator[SqlStore]:
    """A database that no other test has tenants in."""
    store = open_store(bare(own_database_url))
    store.migrator.migrate(START)
    yield store
    store.close()


@pytest.fixture
def tenants(new_store: SqlStore) -> list[str]:
    names = [f"tenant-{number:02}" for number in range(25)]
    for name in names:
        assert new_store.create_tenant(Tenant(name, START))
    return names


def test_nobody_is_looked_at_who_was_not_told_of(new_store: SqlStore, tenants: list[str]) -> None:
    rounds = Rounds(new_store)
    assert rounds.take() == []
    rounds.tell(tenants[3])
    assert rounds.take() == [tenants[3]]
    # What is known may become due by itself.
    assert rounds.take() == [tenants[3]]


def test_everybody_is_looked_at_first_and_then_a_few_at_a_time(new_store: SqlStore, tenants: list[str]) -> None:
    rounds = Rounds(new_store, at_a_time=10)
    rounds.tell_of_everybody()
    assert rounds.take() == tenants
    assert [rounds.take() for _ in range(4)] == [tenants[:10], tenants[10:20], tenants[20:], tenants[:10]]


def test_what_is_told_of_goes_before_its_turn(new_store: SqlStore, tenants: list[str]) -> None:
    rounds = Rounds(new_store, at_a_time=10)
    rounds.tell_of_everybody()
    rounds.take()
    rounds.tell(tenants[24])
    assert rounds.take() == [*tenants[:10], tenants[24]]
    assert rounds.take() == tenants[10:20]


def test_new_tenants_are_found_by_the_next_round(new_store: SqlStore) -> None:
    rounds = Rounds(new_store, at_a_time=10)
    rounds.tell_of_everybody()
    rounds.take()
    new_store.create_tenant(Tenant("a-new-one", START))
    assert "a-new-one" in rounds.take()


def test_what_was_told_of_survives_a_database_that_does_not_answer(
    new_store: SqlStore, tenants: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = Rounds(new_store)
    rounds.tell_of_everybody()
    rounds.tell(tenants[0])

    def refuse() -> list[Tenant]:
        raise StoreUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(new_store, "list_tenants", refuse)
        with pytest.raises(StoreUnavailable):
            rounds.take()
    assert rounds.take() == tenants
