"""Facts of which the judge is unsure: both stay until somebody decides, once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from memorist.core import Core
from memorist.errors import Conflict, Forbidden, InvalidCursor, NotFound
from memorist.facts.values import DoubtStatus, InDoubt, Ruling
from memorist.memories.values import Draft, Status
from memorist.platform.values import Principal, Role
from memorist.testing import StepClock, make_event
from tests.facts.conftest import OpenCore
from tests.facts.judges import ScriptedJudge, contradicting
from tests.facts.telling import BERLIN, LISBON, events, now, recalled, tell


@pytest.fixture
def unsure(open_with: OpenCore) -> Core:
    return open_with(judge=lambda: ScriptedJudge(lambda *_: Ruling.UNSURE), judge_top_k=30)


def test_what_the_judge_is_unsure_of_stays_and_is_listed(unsure: Core, ada: Principal, bob: Principal) -> None:
    old, new = tell(unsure, ada, BERLIN), tell(unsure, ada, LISBON)
    [pair] = unsure.facts.in_doubt(ada).items
    assert (pair.fact.id, pair.other.id) == (new.id, old.id)
    assert (pair.doubt.reason, pair.doubt.judge) == ("because it is unsure", "scripted")
    assert {now(unsure, one).status for one in (old, new)} == {Status.ACTIVE}
    assert unsure.facts.in_doubt(bob).items == ()


def test_confirmed_doubt_retires_the_older_fact(unsure: Core, ada: Principal) -> None:
    old, new = tell(unsure, ada, BERLIN), tell(unsure, ada, LISBON)
    [pair] = unsure.facts.in_doubt(ada).items
    decided = unsure.facts.confirm(ada, pair.doubt.id)
    assert decided.doubt.status is DoubtStatus.CONFIRMED
    assert now(unsure, old).superseded_by == new.id
    assert unsure.facts.in_doubt(ada).items == ()
    [settled] = unsure.facts.in_doubt(ada, status=DoubtStatus.CONFIRMED).items
    assert settled.doubt.id == pair.doubt.id
    for decide in (unsure.facts.confirm, unsure.facts.refute, unsure.facts.dismiss):
        with pytest.raises(Conflict):
            decide(ada, pair.doubt.id)


def test_refuted_doubt_retires_the_newer_fact_as_if_it_never_held(unsure: Core, ada: Principal) -> None:
    old, new = tell(unsure, ada, BERLIN), tell(unsure, ada, LISBON)
    [pair] = unsure.facts.in_doubt(ada).items
    decided = unsure.facts.refute(ada, pair.doubt.id)
    assert decided.doubt.status is DoubtStatus.REFUTED
    assert (now(unsure, old).status, now(unsure, old).valid_to) == (Status.ACTIVE, None)
    retired = now(unsure, new)
    assert (retired.status, retired.superseded_by, retired.valid_to) == (Status.ARCHIVED, old.id, new.created_at)
    for as_of in (None, new.created_at, retired.updated_at):
        assert recalled(unsure, ada, "Where does the user live?", as_of=as_of) == [BERLIN]
    assert (events(unsure, old)[-1], events(unsure, new)[-1]) == ("supersedes", "superseded")
    told = unsure.memories.events(ada, new.id)[-1].payload
    assert (told["by"], told["reason"]) == (old.id, "Refuted by ada: because it is unsure")
    assert [version.memory.id for version in unsure.facts.history(ada, new.id)] == [old.id, new.id]
    assert unsure.facts.in_doubt(ada).items == ()
    [settled] = unsure.facts.in_doubt(ada, status=DoubtStatus.REFUTED).items
    assert settled.doubt.id == pair.doubt.id
    for decide in (unsure.facts.confirm, unsure.facts.refute, unsure.facts.dismiss):
        with pytest.raises(Conflict):
            decide(ada, pair.doubt.id)


def test_refuted_fact_that_is_restored_stays_beside_the_other(
    unsure: Core, open_with: OpenCore, ada: Principal
) -> None:
    old, new = tell(unsure, ada, BERLIN), tell(unsure, ada, LISBON)
    [pair] = unsure.facts.in_doubt(ada).items
    unsure.facts.refute(ada, pair.doubt.id)
    unsure.facts.restore(ada, new.id)
    [kept] = unsure.facts.in_doubt(ada, status=DoubtStatus.DISMISSED).items
    assert (kept.doubt.id, kept.fact.id) == (pair.doubt.id, new.id)
    core = open_with(judge=contradicting)
    core.store.write(ada.tenant, lambda tx: core.jobs.add(tx, ada, "judge", {"memory_id": new.id}))
    core.jobs.run_due(ada.tenant)
    assert {now(core, one).status for one in (old, new)} == {Status.ACTIVE}


def test_two_who_decide_differently_at_once_leave_one_fact(unsure: Core, ada: Principal) -> None:
    for number in range(10):
        old, new = tell(unsure, ada, f"Pier {number} is long."), tell(unsure, ada, f"Pier {number} is short.")
        pairs = unsure.facts.in_doubt(ada, limit=100).items
        [doubt] = [pair.doubt for pair in pairs if (pair.fact.id, pair.other.id) == (new.id, old.id)]
        ready = threading.Barrier(2)

        def decide(
            how: Callable[[Principal, str], InDoubt], doubt_id: str = doubt.id, ready: threading.Barrier = ready
        ) -> bool:
            ready.wait()
            try:
                how(ada, doubt_id)
            except Conflict:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(decide, (unsure.facts.confirm, unsure.facts.refute))) == [False, True]
        assert sorted(now(unsure, one).status for one in (old, new)) == [Status.ACTIVE, Status.ARCHIVED]


def test_dismissed_doubt_keeps_both_and_is_not_judged_again(unsure: Core, open_with: OpenCore, ada: Principal) -> None:
    old, new = tell(unsure, ada, BERLIN), tell(unsure, ada, LISBON)
    [pair] = unsure.facts.in_doubt(ada).items
    unsure.facts.dismiss(ada, pair.doubt.id)
    assert unsure.facts.in_doubt(ada).items == ()
    assert [events(unsure, one)[-1] for one in (old, new)] == ["doubt_dismissed"] * 2
    core = open_with(judge=contradicting)
    core.store.write(ada.tenant, lambda tx: core.jobs.add(tx, ada, "judge", {"memory_id": new.id}))
    core.jobs.run_due(ada.tenant)
    assert now(core, old).status is Status.ACTIVE


def test_doubt_about_a_fact_that_is_gone_is_not_listed(unsure: Core, ada: Principal) -> None:
    old = tell(unsure, ada, BERLIN)
    tell(unsure, ada, LISBON)
    [pair] = unsure.facts.in_doubt(ada).items
    unsure.memories.forget(ada, old.id)
    assert unsure.facts.in_doubt(ada).items == ()
    with pytest.raises(Conflict):
        unsure.facts.confirm(ada, pair.doubt.id)


def test_doubt_about_an_expired_fact_is_neither_listed_nor_told(unsure: Core, ada: Principal, clock: StepClock) -> None:
    unsure.facts.remember_all(ada, [Draft(BERLIN, ttl=timedelta(minutes=5))])
    tell(unsure, ada, LISBON)
    assert unsure.overview.waiting(ada).doubts == len(unsure.facts.in_doubt(ada).items) == 1
    clock.advance(timedelta(minutes=6))
    assert unsure.facts.in_doubt(ada).items == ()
    assert unsure.overview.waiting(ada).doubts == 0
    assert BERLIN not in unsure.composer.compose(ada).text


def test_doubts_are_decided_by_those_who_may_write_the_facts(unsure: Core, ada: Principal, bob: Principal) -> None:
    tell(unsure, ada, BERLIN)
    tell(unsure, ada, LISBON)
    [pair] = unsure.facts.in_doubt(ada).items
    with pytest.raises(NotFound):
        unsure.facts.confirm(bob, pair.doubt.id)
    with pytest.raises(Forbidden):
        unsure.facts.dismiss(Principal(ada.tenant, Role.READER, "ada"), pair.doubt.id)


def test_pages_of_doubts_neither_skip_nor_repeat(unsure: Core, ada: Principal) -> None:
    for number in range(4):
        tell(unsure, ada, f"The user lives in town{number}.")
    everything = [pair.doubt.id for pair in unsure.facts.in_doubt(ada, limit=100).items]
    assert len(everything) == 6
    seen: list[str] = []
    cursor = None
    while True:
        page = unsure.facts.in_doubt(ada, limit=4, cursor=cursor)
        seen += [pair.doubt.id for pair in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == everything
    with pytest.raises(InvalidCursor):
        unsure.facts.in_doubt(ada, cursor="nonsense")


def test_reset_erases_doubts(unsure: Core, ada: Principal) -> None:
    tell(unsure, ada, BERLIN)
    tell(unsure, ada, LISBON)
    [pair] = unsure.facts.in_doubt(ada).items
    unsure.erasure.reset(ada)
    assert unsure.store.read(ada.tenant, lambda tx: tx.facts.get_doubt(pair.doubt.id)) is None


@pytest.mark.parametrize("verdicts", [5, [5], [{}], [{"against": 5, "verdict": "unsure", "confidence": 1}]])
def test_verdicts_that_no_judge_gave_are_passed_over(unsure: Core, ada: Principal, verdicts: object) -> None:
    """As they may stand in the history of a fact that was imported before such were refused."""
    old, new = tell(unsure, ada, BERLIN), tell(unsure, ada, LISBON)
    [before] = unsure.facts.in_doubt(ada).items
    strange = make_event(new, "judged", payload={"verdicts": verdicts})
    unsure.store.write(ada.tenant, lambda tx: tx.events.append([strange]))
    assert unsure.facts.in_doubt(ada).items == (before,)
    assert (before.fact.id, before.other.id) == (new.id, old.id)
    assert before.verdict is not None
