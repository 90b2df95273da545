"""What one profile inferred, beside what all profiles of the user know and another one infers. On both databases."""

from dataclasses import replace

import pytest

from memorist.context.companion import Category
from memorist.core import Core
from memorist.facts.values import Ruling
from memorist.memories.values import Draft, Governor, Memory, Status
from memorist.platform.values import Owner, Principal
from tests.facts.conftest import OpenCore
from tests.facts.judges import ScriptedJudge, contradicting

BERLIN, LISBON = "The user lives in Berlin.", "The user lives in Lisbon."


@pytest.fixture
def core(open_with: OpenCore) -> Core:
    return open_with(judge=contradicting)


@pytest.fixture
def finance(ada: Principal) -> Principal:
    return replace(ada, agent="finance")


def inferred(core: Core, who: Principal, text: str) -> Memory:
    draft = Draft(text, confidence=0.9, owner=Owner(who.user, who.agent), governed_by=Governor.AGENT_TOOLS)
    return core.facts.remember_all(who, [draft])[0].memory


def stated(core: Core, who: Principal, text: str) -> Memory:
    """For all profiles of the user."""
    return core.facts.remember(who, text).memory


def states(core: Core, *memories: Memory) -> list[Status]:
    found = core.store.read(memories[0].tenant, lambda tx: tx.memories.get_many([one.id for one in memories]))
    by_id = {one.id: one.status for one in found}
    return [by_id[one.id] for one in memories]


def doubts(core: Core, who: Principal) -> list[set[str]]:
    return [{pair.fact.id, pair.other.id} for pair in core.facts.in_doubt(who).items]


def reasons(core: Core, who: Principal, memory: Memory) -> list[str]:
    """What the history of a fact says of how it stands to another one."""
    payloads = [event.payload for event in core.memories.events(who, memory.id)]
    said = [*payloads, *(one for payload in payloads for one in payload.get("verdicts", ()))]
    return [one["reason"] for one in said if "reason" in one]


def test_profile_retires_what_it_inferred_itself_and_nothing_of_another(
    core: Core, ada: Principal, finance: Principal
) -> None:
    coder = replace(ada, agent="coder")
    of_coder, older = inferred(core, coder, BERLIN), inferred(core, finance, BERLIN)
    newer = inferred(core, finance, LISBON)
    assert states(core, of_coder, older, newer) == [Status.ACTIVE, Status.ARCHIVED, Status.ACTIVE]
    assert doubts(core, ada) == []


@pytest.mark.parametrize("is_stated", [True, False])
def test_what_all_profiles_know_is_put_in_doubt_by_what_one_infers_and_not_retired(
    core: Core, ada: Principal, finance: Principal, is_stated: bool
) -> None:
    known = stated(core, ada, BERLIN) if is_stated else inferred(core, ada, BERLIN)
    newer = inferred(core, finance, LISBON)
    assert states(core, known, newer) == [Status.ACTIVE, Status.ACTIVE]
    assert doubts(core, finance) == doubts(core, ada) == [{known.id, newer.id}]
    coder = replace(ada, agent="coder")
    assert doubts(core, coder) == []
    assert core.profiles.doubts(coder, 4) == []
    assert [one.newer for one in core.profiles.doubts(finance, 4)] == [LISBON]


def test_decision_about_it_tells_other_profiles_no_reason(core: Core, ada: Principal, finance: Principal) -> None:
    known, newer = stated(core, ada, BERLIN), inferred(core, finance, LISBON)
    (pair,) = core.facts.in_doubt(ada).items
    core.facts.dismiss(ada, pair.doubt.id)
    core.facts.reopen(ada, pair.doubt.id)
    core.facts.confirm(ada, pair.doubt.id)
    coder = replace(ada, agent="coder")
    assert states(core, known, newer) == [Status.ARCHIVED, Status.ACTIVE]
    assert reasons(core, coder, known) == []
    assert any("contradicts" in one for one in reasons(core, finance, newer))
    (retired,) = core.facts.retired(coder).items
    assert (retired.retired.id, retired.by, retired.reason) == (known.id, None, "")


def test_what_a_profile_inferred_gives_way_to_what_all_profiles_are_told(
    core: Core, ada: Principal, finance: Principal
) -> None:
    coder = replace(ada, agent="coder")
    older, newer = inferred(core, finance, BERLIN), stated(core, coder, LISBON)
    assert states(core, older, newer) == [Status.ARCHIVED, Status.ACTIVE]
    assert reasons(core, coder, newer) == [], "they may quote what another profile was told"
    assert len(reasons(core, finance, older)) == 1
    assert [one.memory.id for one in core.facts.history(coder, newer.id)] == [newer.id]
    core.facts.restore(finance, older.id)
    assert states(core, older, newer) == [Status.ACTIVE, Status.ACTIVE]


def test_what_a_profile_was_told_is_its_own(core: Core, ada: Principal, finance: Principal) -> None:
    told = core.facts.remember_all(finance, [Draft(BERLIN)])[0].memory
    known = stated(core, ada, LISBON)
    assert states(core, told, known) == [Status.ACTIVE, Status.ACTIVE]
    assert doubts(core, ada) == []
    newer = inferred(core, ada, "The user lives in Oslo.")
    assert {told.id, newer.id} in doubts(core, finance)


@pytest.mark.parametrize("ruling", [Ruling.SAME, Ruling.REFINES])
def test_profile_keeps_what_says_the_same_until_all_profiles_know_it(
    open_with: OpenCore, ada: Principal, finance: Principal, ruling: Ruling
) -> None:
    core = open_with(judge=lambda: ScriptedJudge(lambda *_: ruling))
    known, of_profile = stated(core, ada, BERLIN), inferred(core, finance, "Berlin is where the user lives.")
    assert states(core, known, of_profile) == [Status.ACTIVE, Status.ACTIVE]
    assert doubts(core, ada) == []
    newer = stated(core, ada, "The user still lives in Berlin.")
    assert states(core, known, of_profile, newer) == [Status.ARCHIVED, Status.ARCHIVED, Status.ACTIVE]
    kept = core.memories.get(ada, newer.id).meta
    assert kept == {"stated": 2, "sources": []}, "what the profile was told is not among its sources"


def test_two_profiles_are_not_compared_whichever_doors_keep_what_they_know(
    open_with: OpenCore, ada: Principal, finance: Principal
) -> None:
    judge = contradicting()
    core = open_with(judge=lambda: judge, background=False)
    coder = replace(ada, agent="coder")
    core.companion.add(finance, BERLIN, Category.HISTORY)
    inferred(core, coder, LISBON)
    core.jobs.run_due(ada.tenant)
    assert (judge.asked, doubts(core, ada)) == ([], [])
