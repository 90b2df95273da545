"""Facts: judged after they are durable, retired in one transaction, brought back, and decided by people in doubt."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.core import Core
from memorist.errors import Conflict, DuplicateContent, Forbidden, LlmUnavailable, NotFound
from memorist.facts.service import FactScope
from memorist.facts.values import DoubtStatus, Ruling
from memorist.memories import lifecycle, writing
from memorist.memories.values import Draft, Memory, Status
from memorist.platform.values import JobStatus, Owner, Principal, Role
from memorist.testing import StepClock, make_doubt
from memorist.testing.clocks import START, FrozenClock
from memorist.times import SystemClock
from tests.facts.conftest import OpenCore
from tests.facts.judges import ScriptedJudge, contradicting, local_judge
from tests.facts.telling import BERLIN, LISBON, OSLO, events, now, recalled, tell
from tests.support.processes import in_processes


@pytest.fixture
def core(open_with: OpenCore) -> Core:
    return open_with(judge=local_judge)


# Supersession


def test_contradicted_fact_is_retired_before_the_call_returns(core: Core, ada: Principal) -> None:
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    retired = now(core, old)
    assert (retired.status, retired.superseded_by) == (Status.ARCHIVED, new.id)
    assert retired.valid_to == new.valid_from
    assert events(core, old) == ["created", "superseded"]
    assert events(core, new) == ["created", "judged", "supersedes"]
    assert now(core, new).status is Status.ACTIVE
    assert recalled(core, ada, "where does the user live") == [LISBON]


def test_only_the_current_preferences_are_recalled(core: Core, ada: Principal) -> None:
    tell(core, ada, "User prefers metric units and dark mode.")
    tell(core, ada, "User prefers imperial units and light mode.")
    assert recalled(core, ada, "what units and mode") == ["User prefers imperial units and light mode."]


def test_outcome_and_reason_are_visible(core: Core, ada: Principal) -> None:
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    trail = core.memories.events(ada, new.id)
    judged = next(event for event in trail if event.event_type == "judged")
    assert judged.payload["judge"] == "local"
    [verdict] = judged.payload["verdicts"]
    assert (verdict["against"], verdict["verdict"]) == (old.id, "contradicts")
    assert "one value" in verdict["reason"]
    superseded = next(event for event in core.memories.events(ada, old.id) if event.event_type == "superseded")
    assert (superseded.payload["by"], superseded.actor) == (new.id, "ada")


def test_what_was_true_then_is_found_as_of_then(core: Core, ada: Principal) -> None:
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    assert old.valid_from is not None
    assert new.valid_from is not None
    query = "where does the user live"
    assert recalled(core, ada, query, as_of=old.valid_from) == [BERLIN]
    assert recalled(core, ada, query, as_of=new.valid_from - timedelta(microseconds=1)) == [BERLIN]
    assert recalled(core, ada, query, as_of=new.valid_from) == [LISBON]
    assert recalled(core, ada, query, as_of=old.valid_from - timedelta(days=1)) == []


def test_fact_that_comes_back_is_a_new_one_of_the_chain(core: Core, ada: Principal) -> None:
    first, second, third = (tell(core, ada, text) for text in (BERLIN, LISBON, BERLIN))
    assert first.id != third.id
    assert [now(core, one).superseded_by for one in (first, second, third)] == [second.id, third.id, None]


def test_compatible_facts_stay(core: Core, ada: Principal) -> None:
    facts = [tell(core, ada, f"The user likes {thing}.") for thing in ("sushi", "ramen", "soba")]
    assert all(now(core, fact).status is Status.ACTIVE for fact in facts)
    assert core.facts.in_doubt(ada).items == ()


def test_facts_of_other_owners_are_left_alone(core: Core, tenant: str, ada: Principal, bob: Principal) -> None:
    coder = Principal(tenant, Role.SERVICE, "ada", "coder")
    others = [tell(core, bob, BERLIN), tell(core, coder, BERLIN, scope=FactScope.AGENT)]
    others += [one.memory for one in core.memories.remember(coder, [Draft(BERLIN)])]
    tell(core, ada, LISBON)
    assert [now(core, one).status for one in others] == [Status.ACTIVE] * 3
    assert others[2].owner == Owner("ada", "coder")


def test_same_fact_is_written_and_judged_once(open_with: OpenCore, ada: Principal) -> None:
    judge = contradicting()
    core = open_with(judge=lambda: judge)
    tell(core, ada, OSLO)
    first = core.facts.remember(ada, BERLIN, idempotency_key="k")
    asked = len(judge.asked)
    again = core.facts.remember(ada, BERLIN, idempotency_key="k")
    third = core.facts.remember(replace(ada, session="other"), BERLIN)
    assert (again.memory.id, again.replayed) == (first.memory.id, True)
    assert (third.memory.id, third.was_new) == (first.memory.id, False)
    assert len(judge.asked) == asked


def test_late_judging_of_an_older_text_retires_the_older_one(open_with: OpenCore, ada: Principal) -> None:
    core = open_with(judge=contradicting)
    current = tell(core, ada, LISBON)
    draft = Draft(BERLIN, event_time=START - timedelta(days=900), owner=Owner("ada"))
    [late] = core.facts.remember_all(ada, [draft])
    assert now(core, current).status is Status.ACTIVE
    retired = now(core, late.memory)
    assert (retired.status, retired.superseded_by, retired.valid_to) == (
        Status.ARCHIVED,
        current.id,
        current.valid_from,
    )
    assert recalled(core, ada, "where does the user live", as_of=START - timedelta(days=800)) == [BERLIN]


def test_what_is_dated_in_the_future_is_no_newer_than_when_it_was_stored(open_with: OpenCore, ada: Principal) -> None:
    core = open_with(judge=contradicting)
    [dated] = core.facts.remember_all(
        ada, [Draft(BERLIN, event_time=START + timedelta(days=13_000), owner=Owner("ada"))]
    )
    current = tell(core, ada, LISBON)
    assert now(core, current).status is Status.ACTIVE
    assert now(core, dated.memory).superseded_by == current.id


@pytest.mark.parametrize("status", [DoubtStatus.DISMISSED, DoubtStatus.REFUTED, DoubtStatus.OPEN])
@pytest.mark.parametrize("ruling", [Ruling.CONTRADICTS, Ruling.UNSURE])
def test_link_of_two_facts_counts_whichever_was_the_newer_one_then(
    open_with: OpenCore, ada: Principal, status: DoubtStatus, ruling: Ruling
) -> None:
    """A date in the future once made a fact the newer one of two, and no longer does."""
    plain = open_with()
    future = Draft(BERLIN, event_time=START + timedelta(days=13_000), owner=Owner("ada"))
    [dated] = plain.facts.remember_all(ada, [future])
    current = tell(plain, ada, LISBON)
    doubt = replace(make_doubt(dated.memory, current), status=status)
    plain.store.write(ada.tenant, lambda tx: tx.facts.insert_doubt(doubt))
    core = open_with(judge=lambda: ScriptedJudge(lambda *_: ruling))
    core.store.write(ada.tenant, lambda tx: core.jobs.add(tx, ada, "judge", {"memory_id": current.id}))
    core.jobs.run_due(ada.tenant)
    is_retired = (status, ruling) == (DoubtStatus.OPEN, Ruling.CONTRADICTS)
    assert now(core, dated.memory).superseded_by == (current.id if is_retired else None)
    turned = core.store.read(ada.tenant, lambda tx: tx.facts.find_doubt(current.id, dated.memory.id))
    assert turned is None


def test_no_more_than_the_nearest_are_judged_but_all_that_are_contradicted(open_with: OpenCore, ada: Principal) -> None:
    plain = open_with()
    facts = [tell(plain, ada, f"The user lives in the city of number{number}.") for number in range(12)]
    judge = contradicting()
    core = open_with(judge=lambda: judge, judge_top_k=3)
    newest = tell(core, ada, "The user lives in the city of Oslo.")
    assert {now(core, fact).superseded_by for fact in facts} == {newest.id}
    unrelated = ScriptedJudge(lambda *_: Ruling.UNRELATED)
    core = open_with(judge=lambda: unrelated, judge_top_k=3)
    tell(core, ada, "The user lives in the city of Turku.")
    assert len(unrelated.asked) == 1  # One is left.


CROWD = [f"{name} works at Siemens." for name in ("Ana", "Carl", "Dora", "Emil", "Fay", "Hugo", "Ines", "Jon")]


def test_many_that_share_the_new_value_do_not_hide_the_one_it_changed(core: Core, ada: Principal) -> None:
    for text in CROWD:
        tell(core, ada, text)
    old, new = tell(core, ada, "Ben works at Bosch."), tell(core, ada, "Ben works at Siemens.")
    assert now(core, old).superseded_by == new.id
    judged = next(event for event in core.memories.events(ada, new.id) if event.event_type == "judged")
    assert 5 <= judged.payload["compared"] <= len(CROWD) + 1
    # What follows something is told first, and only a few of the others.
    assert [one["verdict"] for one in judged.payload["verdicts"]][:2] == ["contradicts", "unrelated"]


def test_remote_judge_is_asked_about_the_same_subject_first(open_with: OpenCore, ada: Principal) -> None:
    plain = open_with()
    for text in ("Ben works at Bosch.", "Ben likes the canteen at Siemens.", *CROWD):
        tell(plain, ada, text)
    judge = ScriptedJudge(lambda *_: Ruling.UNRELATED, is_local=False)
    core = open_with(judge=lambda: judge, judge_top_k=3, background=False)
    tell(core, ada, "Ben works at Siemens.")
    core.jobs.run_due(ada.tenant)
    asked = [old for _, old in judge.asked]
    # The nearest one of all, whoever it is about; then those of the same subject.
    assert len(asked) == 3
    assert asked[0] in (*CROWD, "Ben works at Bosch.")
    assert {"Ben works at Bosch.", "Ben likes the canteen at Siemens."} <= set(asked)


def test_distant_facts_are_not_judged(open_with: OpenCore, ada: Principal) -> None:
    judge = contradicting()
    core = open_with(judge=lambda: judge, judge_threshold=0.2)
    tell(core, ada, "The deploy target is Fly.")
    tell(core, ada, "Grandmother bakes plum cake on Sundays.")
    assert judge.asked == []


def test_without_vectors_shared_words_are_near(ada: Principal, database_url: str) -> None:
    from memorist.bootstrap import open_core
    from tests.support.stores import bare

    core = open_core(bare(database_url))
    try:
        old = tell(core, ada, BERLIN)
        tell(core, ada, "Grandmother bakes plum cake.")
        new = tell(core, ada, LISBON)
        assert now(core, old).superseded_by == new.id
    finally:
        core.close()


def test_without_a_judge_nothing_is_judged_and_no_job_is_added(open_with: OpenCore, ada: Principal) -> None:
    core = open_with()
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    assert events(core, old) == events(core, new) == ["created"]
    assert core.jobs.list(ada).items == ()


def test_text_that_changed_after_it_was_judged_stays(open_with: OpenCore, ada: Principal) -> None:
    def edit_first(*_: str) -> Ruling:
        core.memories.edit(ada, first.id, {"content": "The user grew up in Berlin."})
        return Ruling.CONTRADICTS

    core = open_with(judge=lambda: ScriptedJudge(edit_first))
    first = tell(core, ada, BERLIN)
    tell(core, ada, LISBON)
    assert now(core, first).status is Status.ACTIVE


def test_fact_that_is_forgotten_while_it_is_judged_retires_nothing(open_with: OpenCore, ada: Principal) -> None:
    def forget(*_: str) -> Ruling:
        [fact] = [one for one in core.memories.list(ada).items if one.content == LISBON]
        core.memories.forget(ada, fact.id)
        return Ruling.CONTRADICTS

    core = open_with(judge=lambda: ScriptedJudge(forget))
    first = tell(core, ada, BERLIN)
    tell(core, ada, LISBON)
    assert now(core, first).status is Status.ACTIVE


# A judge that is elsewhere, or fails


def test_remote_judge_works_after_the_write(open_with: OpenCore, ada: Principal) -> None:
    core = open_with(judge=lambda: contradicting(is_local=False), background=False)
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    assert now(core, old).status is Status.ACTIVE
    assert core.jobs.run_due(ada.tenant) == 2
    assert now(core, old).superseded_by == new.id
    assert [job.status for job in core.jobs.list(ada).items] == [JobStatus.DONE] * 2


def test_failing_judge_leaves_both_facts_and_a_retry(open_with: OpenCore, ada: Principal) -> None:
    said: list[Ruling | Exception] = [LlmUnavailable("It is down.", retry_after=60), Ruling.CONTRADICTS]
    clock = StepClock()
    core = open_with(judge=lambda: ScriptedJudge(lambda *_: said.pop(0)), clock=clock, background=False)
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    assert {now(core, one).status for one in (old, new)} == {Status.ACTIVE}
    [job] = core.jobs.list(ada).items
    assert (job.kind, job.status, job.error) == ("judge", JobStatus.WAITING, "It is down. [llm_unavailable]")
    assert core.jobs.run_due(ada.tenant) == 0
    clock.advance(timedelta(seconds=61))
    assert core.jobs.run_due(ada.tenant) == 1
    assert now(core, old).superseded_by == new.id


def test_fault_of_the_judge_is_never_the_callers(open_with: OpenCore, ada: Principal) -> None:
    core = open_with(judge=lambda: ScriptedJudge(lambda *_: ZeroDivisionError()), background=False)
    tell(core, ada, BERLIN)
    assert core.facts.remember(ada, LISBON).was_new
    [job] = core.jobs.list(ada).items
    assert "ZeroDivisionError" in str(job.error)


def test_job_that_is_done_twice_changes_nothing_more(open_with: OpenCore, ada: Principal) -> None:
    core = open_with(judge=contradicting)
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    core.store.write(ada.tenant, lambda tx: core.jobs.add(tx, ada, "judge", {"memory_id": new.id}))
    before = (now(core, old), now(core, new))
    assert core.jobs.run_due(ada.tenant) == 1
    assert (now(core, old), now(core, new)) == before


# Many at once


def assert_one_chain(core: Core, who: Principal, facts: int) -> None:
    """One fact is current, and every other one leads to it, later and later."""
    rows = {row.id: row for row in _all_facts(core, who)}
    assert len(rows) == facts
    current = [row for row in rows.values() if row.status is Status.ACTIVE]
    assert len(current) == 1
    for row in rows.values():
        steps = 0
        while row.superseded_by is not None:
            following = rows[row.superseded_by]
            assert (following.valid_from, following.id) > (row.valid_from, row.id)
            assert row.valid_to is not None
            row, steps = following, steps + 1
            assert steps < facts
        assert row.id == current[0].id
    chain = core.facts.history(who, current[0].id)
    assert [version.memory.id for version in chain] == sorted(
        rows, key=lambda one: (rows[one].valid_from, rows[one].created_at, one)
    )


def _all_facts(core: Core, who: Principal) -> list[Memory]:
    from memorist.platform.values import OwnerFilter

    return core.store.read(who.tenant, lambda tx: tx.memories.scan(OwnerFilter(who.user), "", 1000))


def test_twenty_contradicting_facts_from_threads_leave_one(open_with: OpenCore, ada: Principal) -> None:
    cores = [open_with(judge=contradicting, clock=SystemClock()) for _ in range(2)]
    barrier = threading.Barrier(20)

    def write(number: int) -> None:
        barrier.wait()
        tell(cores[number % 2], ada, f"The user lives in Newtown{number:02}x.")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(not core.jobs.list(ada).items for core in cores)
    assert_one_chain(cores[0], ada, 20)


def test_twenty_contradicting_facts_from_two_processes_leave_one(
    open_with: OpenCore, ada: Principal, database_url: str
) -> None:
    in_processes(2, tell_ten, database_url, ada.tenant)
    # A judge that came too late more often than it tries is retried later: that is now.
    core = open_with(judge=local_judge, clock=FrozenClock(SystemClock().now() + timedelta(hours=1)))
    core.jobs.run_due(ada.tenant)
    assert_one_chain(core, ada, 20)


def tell_ten(number: int, url: str, tenant: str) -> None:
    from memorist.bootstrap import open_core
    from tests.support.stores import bare

    core = open_core(bare(url))
    who = Principal(tenant, Role.USER, "ada")
    threads = [
        threading.Thread(
            target=tell, args=(core, who, f"The user lives in Newtown{'ab'[number]}{'cdefghijkl'[index]}x.")
        )
        for index in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    core.jobs.run_due(tenant)
    core.close()


# Looking back, and taking back


def test_history_is_the_chain_with_times_reasons_and_who(core: Core, ada: Principal, bob: Principal) -> None:
    facts = [tell(core, ada, text) for text in (BERLIN, LISBON, OSLO)]
    for one in facts:
        chain = core.facts.history(ada, one.id)
        assert [version.memory.content for version in chain] == [BERLIN, LISBON, OSLO]
    superseded = [event for event in chain[0].events if event.event_type == "superseded"]
    assert [(event.payload["by"], event.payload["judge"], event.actor) for event in superseded] == [
        (facts[1].id, "local", "ada")
    ]
    with pytest.raises(NotFound):
        core.facts.history(bob, facts[0].id)


def test_history_shows_an_anonymized_fact_to_admins_alone(
    core: Core, ada: Principal, bob: Principal, admin: Principal
) -> None:
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    before = now(core, old)
    gone = lifecycle.anonymize(before, core.clock.now())
    assert core.store.write(ada.tenant, lambda tx: writing.replace(tx, gone, before.updated_at))
    assert [version.memory.id for version in core.facts.history(ada, new.id)] == [new.id]
    for who in (ada, bob):
        with pytest.raises(NotFound):
            core.facts.history(who, old.id)
    for one in (old, new):
        shown = core.facts.history(admin, one.id)
        assert [version.memory.content for version in shown] == [lifecycle.REDACTED, LISBON]


def test_restored_fact_is_active_again_and_stays_so(core: Core, ada: Principal) -> None:
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    restored = core.facts.restore(ada, old.id)
    assert (restored.status, restored.superseded_by, restored.valid_to) == (Status.ACTIVE, None, None)
    assert now(core, old) == restored
    assert events(core, old)[-1] == "restored"
    assert set(recalled(core, ada, "where does the user live")) == {BERLIN, LISBON}
    core.store.write(ada.tenant, lambda tx: core.jobs.add(tx, ada, "judge", {"memory_id": new.id}))
    core.jobs.run_due(ada.tenant)
    assert now(core, old).status is Status.ACTIVE


def test_fact_whose_text_is_active_is_not_restored(core: Core, ada: Principal) -> None:
    old = tell(core, ada, BERLIN)
    tell(core, ada, LISBON)
    tell(core, ada, BERLIN)
    before = now(core, old)
    with pytest.raises(DuplicateContent):
        core.facts.restore(ada, old.id)
    assert now(core, old) == before


def test_only_retired_facts_of_ones_own_are_restored(core: Core, ada: Principal, bob: Principal) -> None:
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    with pytest.raises(Conflict):
        core.facts.restore(ada, new.id)
    with pytest.raises(NotFound):
        core.facts.restore(bob, old.id)
    with pytest.raises(Forbidden):
        core.facts.restore(Principal(ada.tenant, Role.READER, "ada"), old.id)
