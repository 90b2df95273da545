"""Scopes that are larger than the memory for them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from memorist.core import Core
from memorist.ids import to_uuid
from memorist.memories.values import Draft, Governor
from memorist.platform.values import Principal, Role
from memorist.recall.index.columns import Array
from memorist.recall.index.row_ids import RowIds
from memorist.recall.question import validated
from memorist.recall.values import Question, Shortfall
from tests.recall.conftest import OpenCore, ask, found, make_tenant, remember
from tests.support.models import WordEmbedder


def test_what_does_not_fit_is_found_by_its_words_and_that_is_told(
    open_with: OpenCore, caplog: pytest.LogCaptureFixture
) -> None:
    core = open_with(WordEmbedder(), min_score=0.02, index_memory_bytes=1)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    teapot = remember(core, ada, "the teapot is blue")
    core.memories.remember(ada, [Draft(f"number{number} of many") for number in range(20)])
    for _ in range(2):
        recalled = ask(core, ada, "teapot")
        assert [hit.memory.id for hit in recalled.hits] == [teapot.id]
        assert recalled.degraded
        assert core.recall.lacks_memory(ada)
        assert not core.recall.lacks_memory(replace(ada, user="mel"))
        assert core.recall.lacks_memory(replace(ada, role=Role.ADMIN, user=None))
    told = [record.getMessage() for record in caplog.records if "index_memory_mb" in record.getMessage()]
    assert len(told) == 1


def test_large_index_that_lacks_a_folder_to_be_saved_in_is_told_once(
    open_with: OpenCore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.recall.index.cache._READ_IN_SECONDS", 20)
    core = open_with(WordEmbedder(), index_folder=None, lacks_index_folder=True)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    core.memories.remember(ada, [Draft(f"number{number} of many") for number in range(19)])
    ask(core, ada, "many")
    assert "index_folder" not in caplog.text
    core.memories.remember(ada, [Draft("the teapot is blue")])
    for _ in range(2):
        ask(core, ada, "teapot")
    assert caplog.text.count("name a folder to save it in with index_folder") == 1


def test_a_scope_that_fits_is_not_degraded(open_with: OpenCore) -> None:
    core = open_with(WordEmbedder(), min_score=0.02)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    teapot = remember(core, ada, "the teapot is blue")
    assert found(core, ada, "teapot") == [teapot.id]
    assert not ask(core, ada, "teapot").degraded
    assert not core.recall.lacks_memory(ada)


@pytest.fixture
def crowd(open_with: OpenCore, monkeypatch: pytest.MonkeyPatch) -> Core:
    monkeypatch.setattr("memorist.recall.service._MOST_USERS", 5)
    return open_with(WordEmbedder(), min_score=0.02)


def users_of(core: Core, tenant: str, count: int) -> list[str]:
    """Users with a memory each, the last with the newest; returned are the ids of these."""
    return [
        remember(core, Principal(tenant, Role.USER, f"user-{number}"), f"the teapot of number{number}").id
        for number in range(count)
    ]


def test_admin_that_asks_for_nobody_is_shown_all_users_while_they_are_few(crowd: Core) -> None:
    admin = Principal(make_tenant(crowd), Role.ADMIN)
    told = users_of(crowd, admin.tenant, 5)
    recalled = ask(crowd, admin, "teapot", top_k=20)
    assert {hit.memory.id for hit in recalled.hits} == set(told)
    assert (recalled.degraded, recalled.degraded_by) == (False, ())


def test_of_too_many_users_those_with_the_newest_memories_are_looked_at(crowd: Core) -> None:
    admin = Principal(make_tenant(crowd), Role.ADMIN)
    shared = remember(crowd, replace(admin, user=None), "the teapot of all")
    told = users_of(crowd, admin.tenant, 12)
    recalled = ask(crowd, admin, "teapot", top_k=20)
    assert {hit.memory.id for hit in recalled.hits} == {shared.id, *told[-4:]}
    assert (recalled.degraded, recalled.degraded_by) == (True, (Shortfall.USERS,))
    # Whoever says of whom is shown all, whenever that one was last heard of.
    named = ask(crowd, replace(admin, user="user-0"), "teapot", top_k=20)
    assert {hit.memory.id for hit in named.hits} == {told[0], shared.id}
    assert not named.degraded
    assert crowd.recall._shelves.size_bytes() > 0
    assert len(crowd.recall._shelves._shelves) == 6


def test_of_many_users_as_many_are_looked_at_as_there_is_memory_for(open_with: OpenCore) -> None:
    core = open_with(WordEmbedder(), min_score=0.02)
    admin = Principal(make_tenant(core), Role.ADMIN)
    told = users_of(core, admin.tenant, 18)
    assert not ask(core, admin, "teapot", top_k=20).degraded
    size = core.recall._shelves.size_bytes()
    small = open_with(WordEmbedder(), min_score=0.02, index_memory_bytes=size // 3)
    for _ in range(2):
        recalled = ask(small, admin, "teapot", top_k=20)
        assert 2 < len(recalled.hits) < len(told)
        assert recalled.degraded_by == (Shortfall.USERS,)
        assert small.recall._shelves.size_bytes() <= size // 3
    # What fits stays: the next one reads nothing anew.
    shelves = dict(small.recall._shelves._shelves)
    ask(small, admin, "teapot", top_k=20)
    assert all(small.recall._shelves._shelves[key] is shelf for key, shelf in shelves.items())


def test_what_only_its_user_reads_is_looked_up_among_that_users_memories_alone(
    crowd: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = Principal(make_tenant(crowd), Role.ADMIN)
    told = users_of(crowd, admin.tenant, 5)
    for number in range(5):
        who = Principal(admin.tenant, Role.USER, f"user-{number}")
        entries = [Draft(f"teapot entry {one}", governed_by=Governor.COMPANION) for one in range(20)]
        crowd.memories.remember(who, entries)
    ask(crowd, admin, "teapot")
    looked_up: list[int] = []
    places_of = RowIds.places_of

    def counted(self: RowIds, ids: Sequence[str]) -> Array:
        looked_up.append(len(ids))
        return places_of(self, ids)

    monkeypatch.setattr(RowIds, "places_of", counted)
    assert {hit.memory.id for hit in ask(crowd, admin, "teapot", top_k=20).hits} == set(told)
    # Others may be looked up beside it: those that just got their vectors.
    assert looked_up.count(20) >= 5
    assert max(looked_up) < 5 * 20, "not those of all on every shelf"


def test_why_not_names_a_memory_in_any_form_and_says_that_its_user_was_left_out(crowd: Core) -> None:
    admin = Principal(make_tenant(crowd), Role.ADMIN)
    first, *_ = users_of(crowd, admin.tenant, 8)
    written = str(to_uuid(first))
    assert validated(admin, Question("teapot", why_not=written)).why_not == first
    why_not = ask(crowd, admin, "teapot", why_not=written).why_not
    assert why_not is not None
    assert why_not["id"] == first
    assert why_not["reason"].endswith("Ask for that user.")
    of_user = ask(crowd, replace(admin, user="user-0"), "teapot", why_not=written).why_not
    assert of_user is not None
    assert of_user["recalled"]
