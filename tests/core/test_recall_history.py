"""What a memory was recalled for is kept: a little of it, without secrets, for those whom it concerns, until erased."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import NotFound
from memorist.memories.accesses import LONGEST_QUERY
from memorist.memories.values import Memory, PastRecall, Status
from memorist.platform.values import Owner, Principal, Role
from memorist.recall.values import Question
from memorist.testing import StepClock
from tests.support.stores import bare

Remember = Callable[..., Memory]


@pytest.fixture
def background() -> bool:
    """Each test says when recalls are written."""
    return False


@pytest.fixture
def other(database_url: str, clock: StepClock) -> Iterator[Core]:
    """Another process, as far as the database can tell."""
    core = open_core(bare(database_url), clock=clock, background=False)
    yield core
    core.close()


def ask(core: Core, who: Principal, query: str) -> None:
    assert core.recall.recall(who, Question(query, min_score=0.0)).hits


def written(core: Core, memory: Memory) -> list[PastRecall]:
    return core.store.read(memory.tenant, lambda tx: tx.recalls.of(memory.id, 1000))


def test_recall_is_noted_with_its_question_and_rank(
    core: Core, ada: Principal, remember: Remember, clock: StepClock
) -> None:
    first, second = remember(ada, "the kettle is blue"), remember(ada, "a blue kettle and a blue cup")
    ask(core, replace(ada, agent="coder", source="http"), "blue kettle")
    recalls = [core.recall_history.of(ada, memory.id)[0] for memory in (first, second)]
    assert {recall.rank for recall in recalls} == {1, 2}
    assert len({recall.id for recall in recalls}) == 1
    for recall in recalls:
        assert (recall.query, recall.user, recall.agent, recall.source) == ("blue kettle", "ada", "coder", "http")
        assert 0 <= recall.score <= 1
        assert recall.at < clock.now()


def test_it_is_the_same_before_and_after_it_is_written(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada, "the kettle is blue")
    for question in ("kettle", "what is blue"):
        ask(core, ada, question)
    waiting = core.recall_history.of(ada, memory.id)
    assert [recall.query for recall in waiting] == ["what is blue", "kettle"]
    assert written(core, memory) == []
    core.accesses.flush()
    assert written(core, memory) == core.recall_history.of(ada, memory.id) == waiting


def test_what_did_not_come_back_has_no_history(core: Core, ada: Principal, remember: Remember) -> None:
    remember(ada, "the kettle is blue")
    not_asked = remember(ada, "trains leave on time")
    core.recall.recall(ada, Question("kettle", top_k=1))
    assert core.recall_history.of(ada, not_asked.id) == []


def test_newest_are_kept(core: Core, ada: Principal, remember: Remember, database_url: str, clock: StepClock) -> None:
    memory = remember(ada, "the kettle is blue")
    small = open_core(replace(bare(database_url), recall_history=3), clock=clock, background=False)
    for number in range(5):
        ask(small, ada, f"kettle {number}")
        if number != 2:
            small.accesses.flush()
    queries = [recall.query for recall in written(core, memory)]
    assert queries == ["kettle 4", "kettle 3", "kettle 2"]
    assert [recall.query for recall in small.recall_history.of(ada, memory.id)] == queries
    small.close()


def test_with_none_to_keep_nothing_is_noted(
    core: Core, ada: Principal, remember: Remember, database_url: str, clock: StepClock
) -> None:
    memory = remember(ada, "the kettle is blue")
    without = open_core(replace(bare(database_url), recall_history=0), clock=clock, background=False)
    ask(without, ada, "kettle")
    assert without.recall_history.of(ada, memory.id) == []
    without.close()
    assert written(core, memory) == []
    found = core.store.read(memory.tenant, lambda tx: tx.memories.get(memory.id))
    assert found is not None
    assert found.access_count == 1


def test_queue_is_bounded(core: Core, ada: Principal, remember: Remember, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.memories.accesses._MOST_RECALLS", 4)
    memory = remember(ada, "the kettle is blue")
    for number in range(7):
        ask(core, ada, f"kettle {number}")
    core.accesses.flush()
    assert [recall.query for recall in written(core, memory)] == [f"kettle {number}" for number in (6, 5, 4, 3)]


def test_question_is_cut_and_holds_no_secret(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada, "the kettle is blue")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    ask(core, ada, f"kettle {secret[:40]} " + "word " * 200)
    core.accesses.flush()
    (recall,) = written(core, memory)
    assert secret[:40] not in recall.query
    assert recall.query.startswith("kettle [REDACTED")
    assert len(recall.query) == LONGEST_QUERY


def test_who_asked_is_told_to_admins_and_to_the_asker(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Remember
) -> None:
    shared = remember(admin, "the kettle is blue", owner=Owner())
    ask(core, bob, "kettle for bob")
    ask(core, ada, "kettle for ada")

    def seen_by(who: Principal) -> list[tuple[str | None, str]]:
        return [(recall.user, recall.query) for recall in core.recall_history.of(who, shared.id)]

    assert seen_by(admin) == [("ada", "kettle for ada"), ("bob", "kettle for bob")]
    assert seen_by(ada) == [("ada", "kettle for ada"), (None, "")]
    assert seen_by(bob) == [(None, ""), ("bob", "kettle for bob")]
    service = Principal(ada.tenant, Role.SERVICE)
    assert seen_by(service) == [(None, ""), (None, "")]


def test_owner_sees_what_others_asked_of_its_own_memory_but_not_who(
    core: Core, ada: Principal, admin: Principal, remember: Remember
) -> None:
    memory = remember(ada, "the kettle is blue")
    ask(core, replace(admin, agent="support"), "whose kettle is blue")
    (recall,) = core.recall_history.of(ada, memory.id)
    assert (recall.query, recall.user, recall.agent) == ("whose kettle is blue", None, None)


def test_history_of_what_one_may_not_see_is_not_found(
    core: Core, ada: Principal, bob: Principal, remember: Remember
) -> None:
    memory = remember(ada, "the kettle is blue")
    ask(core, ada, "kettle")
    with pytest.raises(NotFound):
        core.recall_history.of(bob, memory.id)
    with pytest.raises(NotFound):
        core.recall_history.of(Principal("another", Role.ADMIN), memory.id)


# Erasure


def test_erased_memory_takes_its_recalls_along(core: Core, ada: Principal, remember: Remember) -> None:
    gone, kept = remember(ada, "the kettle is blue"), remember(ada, "the kettle is old")
    ask(core, ada, "kettle")
    core.accesses.flush()
    ask(core, ada, "kettle again")
    receipt = core.erasure.erase(ada, [gone.id])
    core.accesses.flush()
    assert receipt.counts["recalls"] == 1
    assert receipt.verification is not None
    assert receipt.verification.ok
    assert written(core, gone) == []
    assert [recall.query for recall in written(core, kept)] == ["kettle again", "kettle"]


def test_purged_user_is_forgotten_as_an_asker(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Remember
) -> None:
    shared = remember(admin, "the kettle is blue", owner=Owner())
    ask(core, ada, "before kettle")
    core.accesses.flush()
    ask(core, ada, "kettle in the queue")
    ask(core, bob, "kettle of bob")
    assert core.erasure.preview(ada)["recalls"] == 1
    receipt = core.erasure.purge_user(ada)
    core.accesses.flush()
    assert receipt.counts["recalls"] == 1
    assert receipt.verification is not None
    assert receipt.verification.ok
    assert [recall.query for recall in written(core, shared)] == ["kettle of bob"]


def test_what_another_process_had_noted_of_an_erased_user_is_not_written(
    core: Core, other: Core, ada: Principal, admin: Principal, remember: Remember, clock: StepClock
) -> None:
    shared = remember(admin, "the kettle is blue", owner=Owner())
    own = remember(ada, "my kettle")
    ask(other, ada, "kettle")
    core.erasure.purge_user(ada)
    other.accesses.flush()
    assert written(core, shared) == written(core, own) == []
    clock.advance(timedelta(seconds=1))
    ask(other, ada, "kettle now")
    other.accesses.flush()
    assert [recall.query for recall in written(core, shared)] == ["kettle now"]


def test_reset_forgets_what_was_asked(core: Core, ada: Principal, admin: Principal, remember: Remember) -> None:
    shared = remember(admin, "the kettle is blue", owner=Owner())
    ask(core, ada, "kettle")
    core.accesses.flush()
    ask(core, ada, "kettle again")
    core.erasure.reset(ada)
    core.accesses.flush()
    assert written(core, shared) == []


def test_deleted_memory_still_shows_its_history(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada, "the kettle is blue")
    ask(core, ada, "kettle")
    assert core.memories.forget(ada, memory.id).status is Status.SOFT_DELETED
    assert [recall.query for recall in core.recall_history.of(ada, memory.id)] == ["kettle"]


def test_tenants_do_not_see_each_other(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada, "the kettle is blue")
    ask(core, ada, "kettle")
    core.accesses.flush()
    neighbour = core.identity.create_tenant(f"{ada.tenant}-next")[0].id
    assert core.store.read(neighbour, lambda tx: tx.recalls.of(memory.id, 9)) == []
    core.store.write(neighbour, lambda tx: tx.recalls.insert(written(core, memory)))
    assert core.store.read(neighbour, lambda tx: tx.recalls.of(memory.id, 9)) == []
