"""What was retired lately, to be taken back; and decisions about facts in doubt that are taken back."""

from pathlib import Path

import pytest

from memorist.bootstrap import open_store
from memorist.core import Core
from memorist.errors import Conflict, DuplicateContent, Forbidden, InvalidCursor, NotFound
from memorist.facts.values import DoubtStatus, InDoubt, Ruling
from memorist.memories.values import Draft, Status
from memorist.platform.values import Owner, Principal, Role
from memorist.recall.values import Question
from memorist.store.statements import SqlStatement, load_statements
from memorist.testing import make_event, new_tenant
from memorist.testing.clocks import START
from tests.facts.conftest import OpenCore
from tests.facts.judges import ScriptedJudge, contradicting, local_judge
from tests.facts.test_facts import BERLIN, LISBON, OSLO, events, now, recalled, tell
from tests.support.stores import bare


@pytest.fixture
def core(open_with: OpenCore) -> Core:
    return open_with(judge=local_judge)


@pytest.fixture
def unsure(open_with: OpenCore) -> Core:
    return open_with(judge=lambda: ScriptedJudge(lambda *_: Ruling.UNSURE))


def in_doubt(core: Core, who: Principal) -> InDoubt:
    tell(core, who, BERLIN)
    tell(core, who, LISBON)
    [pair] = core.facts.in_doubt(who).items
    return pair


# What was retired


@pytest.mark.parametrize(
    ("older", "newer", "merged"),
    [
        ({"stated": 2, "sources": ["a"]}, {"stated": 3, "sources": ["b"]}, {"stated": 5, "sources": ["a", "b"]}),
        ({"sources": [{"url": "https://a.example"}]}, {}, {"stated": 2, "sources": []}),
        ({"sources": "wiki", "stated": "in an interview"}, {}, {"stated": 2, "sources": []}),
        ({"stated": True, "sources": ["a"]}, {"stated": 4}, {"stated": 5, "sources": ["a"]}),
        ({"stated": 2}, {"sources": {"wiki": 1}, "stated": -1}, {"sources": {"wiki": 1}, "stated": -1}),
    ],
)
def test_merge_reads_and_writes_nothing_of_a_caller_s_own(
    open_with: OpenCore, ada: Principal, older: dict[str, object], newer: dict[str, object], merged: dict[str, object]
) -> None:
    core = open_with(judge=lambda: ScriptedJudge(lambda *_: Ruling.SAME))
    drafts = [Draft(text, meta=meta) for text, meta in (("Lives in Rome.", older), ("Is at home in Rome.", newer))]
    old, new = (core.facts.remember_all(ada, [draft])[0].memory for draft in drafts)
    assert now(core, old).superseded_by == new.id
    assert now(core, new).meta == merged


def test_retired_fact_is_listed_with_what_took_its_place_and_why(core: Core, ada: Principal) -> None:
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    [one] = core.facts.retired(ada).items
    assert (one.retired.id, one.by and one.by.id) == (old.id, new.id)
    assert one.judge == "local"
    assert "one value" in one.reason
    assert one.confidence is not None
    assert 0 < one.confidence <= 1
    [superseded] = [event for event in core.memories.events(ada, old.id) if event.event_type == "superseded"]
    assert one.at == superseded.created_at


def test_reasons_that_no_judge_gave_are_passed_over(core: Core, ada: Principal) -> None:
    """As they may stand in the history of a fact that was imported before such were refused."""
    old, _ = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    strange = make_event(old, "superseded", payload={"reason": [1], "judge": {}, "confidence": "very"})
    core.store.write(ada.tenant, lambda tx: tx.events.append([strange]))
    [one] = core.facts.retired(ada).items
    assert (one.reason, one.judge, one.confidence) == ("", "", None)


def test_last_retired_comes_first_and_pages_neither_skip_nor_repeat(open_with: OpenCore, ada: Principal) -> None:
    core = open_with(judge=contradicting)
    facts = [tell(core, ada, f"The user lives in town{number}.") for number in range(6)]
    seen: list[str] = []
    cursor = None
    while True:
        page = core.facts.retired(ada, limit=2, cursor=cursor)
        seen += [one.retired.id for one in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [fact.id for fact in facts[4::-1]]
    with pytest.raises(InvalidCursor):
        core.facts.retired(ada, cursor="nonsense")


def test_cursor_of_another_caller_is_refused(open_with: OpenCore, ada: Principal, bob: Principal) -> None:
    core = open_with(judge=contradicting)
    for text in (BERLIN, LISBON, OSLO):
        tell(core, ada, text)
    cursor = core.facts.retired(ada, limit=1).next_cursor
    assert cursor is not None
    with pytest.raises(InvalidCursor):
        core.facts.retired(bob, cursor=cursor)


def test_everybody_sees_only_what_they_may_see(core: Core, tenant: str, ada: Principal, bob: Principal) -> None:
    for who in (ada, bob):
        tell(core, who, BERLIN)
        tell(core, who, LISBON)
    shared = Principal(tenant, Role.ADMIN)
    core.facts.remember_all(shared, [Draft(BERLIN, owner=Owner())])
    core.facts.remember_all(shared, [Draft(LISBON, owner=Owner())])
    assert {one.retired.user for one in core.facts.retired(ada).items} == {"ada", None}
    assert {one.retired.user for one in core.facts.retired(bob).items} == {"bob", None}
    assert {one.retired.user for one in core.facts.retired(shared).items} == {"ada", "bob", None}
    assert core.facts.retired(Principal(new_tenant(), Role.ADMIN)).items == ()


def test_restored_or_forgotten_fact_is_no_longer_listed(core: Core, ada: Principal) -> None:
    first, _, third = (tell(core, ada, text) for text in (BERLIN, LISBON, OSLO))
    assert len(core.facts.retired(ada).items) == 2
    core.facts.restore(ada, first.id)
    [left] = core.facts.retired(ada).items
    assert left.retired.content == LISBON
    core.memories.forget(ada, third.id)
    [left] = core.facts.retired(ada).items
    assert left.by is not None
    assert left.by.status is Status.SOFT_DELETED


def test_what_stands_now_is_the_end_of_the_chain(open_with: OpenCore, ada: Principal) -> None:
    core = open_with(judge=contradicting)
    first, second, third = (tell(core, ada, text) for text in (BERLIN, LISBON, OSLO))

    def ends() -> dict[str, str | None]:
        return {one.retired.id: one.current and one.current.id for one in core.facts.retired(ada).items}

    assert ends() == {first.id: third.id, second.id: third.id}
    core.facts.restore(ada, second.id)
    assert ends() == {first.id: second.id}
    core.memories.forget(ada, second.id)
    assert ends() == {first.id: None}


def test_deleted_fact_is_shown_to_those_alone_who_may_restore_it(open_with: OpenCore, ada: Principal) -> None:
    core = open_with(judge=contradicting)
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    core.memories.forget(ada, new.id)
    reader = Principal(ada.tenant, Role.READER, "ada")
    assert [one.memory.id for one in core.facts.history(ada, new.id)] == [old.id, new.id]
    assert [one.memory.id for one in core.facts.history(reader, old.id)] == [old.id]
    with pytest.raises(NotFound):
        core.facts.history(reader, new.id)
    with pytest.raises(NotFound):
        core.recall.recall(reader, Question("home", why_not=new.id))
    assert [one.by and one.by.id for who in (ada, reader) for one in core.facts.retired(who).items] == [new.id, None]


def test_kept_pair_with_a_deleted_fact_is_shown_to_those_alone_who_may_restore_it(unsure: Core, ada: Principal) -> None:
    pair = in_doubt(unsure, ada)
    unsure.facts.dismiss(ada, pair.doubt.id)
    unsure.memories.forget(ada, pair.fact.id)
    reader = Principal(ada.tenant, Role.READER, "ada")
    counts = [len(unsure.facts.in_doubt(who, status=DoubtStatus.DISMISSED).items) for who in (ada, reader)]
    assert counts == [1, 0]


def test_list_walks_its_index_without_sorting(tmp_path: Path) -> None:
    store = open_store(bare(str(tmp_path / "memorist.db")))
    store.migrator.migrate(START)
    statement = load_statements("sqlite")["list_retired"]
    explain = SqlStatement("explain", "", f"EXPLAIN QUERY PLAN {statement.sql}", statement.parameters)
    found = store.driver.write(None, lambda tx: tx.rows(explain, dict.fromkeys(statement.parameters, "x")))
    store.close()
    assert [row[3].partition(" (")[0] for row in found] == ["SEARCH memories USING INDEX memories_retired"]


# What the judge said


def test_pair_in_doubt_comes_with_the_verdict(unsure: Core, ada: Principal) -> None:
    pair = in_doubt(unsure, ada)
    assert pair.verdict is not None
    assert (pair.verdict.ruling, pair.verdict.confidence) == (Ruling.UNSURE, 0.8)


def test_pair_whose_older_fact_was_judged_comes_with_the_verdict(open_with: OpenCore, ada: Principal) -> None:
    judge = ScriptedJudge(lambda *_: Ruling.UNSURE, is_local=False)
    core = open_with(judge=lambda: judge, background=False)
    tell(core, ada, BERLIN)
    tell(core, ada, LISBON)
    core.jobs.run_due(ada.tenant)
    [pair] = core.facts.in_doubt(ada).items
    assert pair.verdict is not None
    assert pair.verdict.reason == "because it is unsure"


# Decisions taken back


def test_dismissed_doubt_is_open_again(unsure: Core, ada: Principal) -> None:
    pair = in_doubt(unsure, ada)
    unsure.facts.dismiss(ada, pair.doubt.id)
    assert unsure.facts.reopen(ada, pair.doubt.id).doubt.status is DoubtStatus.OPEN
    assert [one.doubt.id for one in unsure.facts.in_doubt(ada).items] == [pair.doubt.id]
    for one in (pair.fact, pair.other):
        assert events(unsure, one)[-2:] == ["doubt_dismissed", "doubt_reopened"]


def test_confirmed_doubt_is_open_again_and_both_facts_are_recalled(unsure: Core, ada: Principal) -> None:
    pair = in_doubt(unsure, ada)
    unsure.facts.confirm(ada, pair.doubt.id)
    assert recalled(unsure, ada, "where does the user live") == [LISBON]
    unsure.facts.reopen(ada, pair.doubt.id)
    assert set(recalled(unsure, ada, "where does the user live")) == {BERLIN, LISBON}
    assert now(unsure, pair.other).superseded_by is None
    assert [one.doubt.id for one in unsure.facts.in_doubt(ada).items] == [pair.doubt.id]
    # And it can be decided as before.
    assert unsure.facts.confirm(ada, pair.doubt.id).doubt.status is DoubtStatus.CONFIRMED
    assert now(unsure, pair.other).superseded_by == pair.fact.id


def test_refuted_doubt_is_open_again_and_both_facts_are_recalled(unsure: Core, ada: Principal) -> None:
    pair = in_doubt(unsure, ada)
    unsure.facts.refute(ada, pair.doubt.id)
    assert recalled(unsure, ada, "where does the user live") == [BERLIN]
    [retired] = unsure.facts.retired(ada).items
    assert retired.by is not None
    assert (retired.retired.id, retired.by.id) == (pair.fact.id, pair.other.id)
    unsure.facts.reopen(ada, pair.doubt.id)
    assert set(recalled(unsure, ada, "where does the user live")) == {BERLIN, LISBON}
    assert now(unsure, pair.fact).superseded_by is None
    assert [one.doubt.id for one in unsure.facts.in_doubt(ada).items] == [pair.doubt.id]
    # And it can be decided the other way.
    unsure.facts.confirm(ada, pair.doubt.id)
    assert now(unsure, pair.other).superseded_by == pair.fact.id


def test_only_a_decision_is_taken_back(unsure: Core, ada: Principal) -> None:
    pair = in_doubt(unsure, ada)
    with pytest.raises(Conflict):
        unsure.facts.reopen(ada, pair.doubt.id)


def test_decision_about_a_fact_that_is_gone_stays(unsure: Core, ada: Principal) -> None:
    pair = in_doubt(unsure, ada)
    unsure.facts.confirm(ada, pair.doubt.id)
    unsure.memories.forget(ada, pair.fact.id)
    with pytest.raises(Conflict):
        unsure.facts.reopen(ada, pair.doubt.id)
    assert now(unsure, pair.other).status is Status.ARCHIVED


def test_decision_is_not_taken_back_over_a_fact_with_the_same_text(unsure: Core, ada: Principal) -> None:
    pair = in_doubt(unsure, ada)
    unsure.facts.confirm(ada, pair.doubt.id)
    tell(unsure, ada, BERLIN)
    with pytest.raises(DuplicateContent):
        unsure.facts.reopen(ada, pair.doubt.id)


def test_decision_is_taken_back_by_those_who_may_write_the_facts(unsure: Core, ada: Principal, bob: Principal) -> None:
    pair = in_doubt(unsure, ada)
    unsure.facts.dismiss(ada, pair.doubt.id)
    with pytest.raises(NotFound):
        unsure.facts.reopen(bob, pair.doubt.id)
    with pytest.raises(Forbidden):
        unsure.facts.reopen(Principal(ada.tenant, Role.READER, "ada"), pair.doubt.id)
