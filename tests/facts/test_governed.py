"""A fact that contradicts what another door keeps: both stay, and somebody decides."""

from typing import Any

import pytest

from memorist.context.companion import Category, Finding, FindingVerdict
from memorist.core import Core
from memorist.memories.values import Draft, Governor, Memory, Retention, Status
from memorist.platform.values import Owner, Principal
from tests.facts.conftest import OpenCore
from tests.facts.judges import contradicting

BERLIN, LISBON = "The user lives in Berlin.", "The user lives in Lisbon."


@pytest.fixture
def core(open_with: OpenCore) -> Core:
    return open_with(judge=contradicting)


def status(core: Core, memory: Memory) -> Status:
    found = core.store.read(memory.tenant, lambda tx: tx.memories.get(memory.id))
    assert found is not None
    return found.status


def doubts(core: Core, who: Principal) -> list[set[str]]:
    return [{pair.fact.id, pair.other.id} for pair in core.facts.in_doubt(who).items]


def keep(core: Core, who: Principal, door: Governor) -> Memory:
    if door is Governor.COMPANION:
        return core.companion.add(who, BERLIN, Category.HISTORY).memory
    if door is Governor.CODING_ASSISTANT:
        return core.chunks.remember(who, BERLIN, "fact").memory
    if door is Governor.PROFILE:
        return core.memories.put(who, Owner(who.user, "default"), "home", {"content": BERLIN}).memory
    draft = Draft(BERLIN, retention=Retention.POLICY, governed_by=Governor.LIFECYCLE)
    return core.facts.remember_all(who, [draft], later=True)[0].memory


@pytest.mark.parametrize("door", [Governor.COMPANION, Governor.CODING_ASSISTANT, Governor.PROFILE, Governor.LIFECYCLE])
def test_what_another_door_keeps_is_put_in_doubt_and_never_retired(core: Core, ada: Principal, door: Governor) -> None:
    kept = keep(core, ada, door)
    fact = core.facts.remember(ada, LISBON).memory
    assert (status(core, kept), status(core, fact)) == (Status.ACTIVE, Status.ACTIVE)
    assert doubts(core, ada) == [{kept.id, fact.id}]


def test_fact_of_another_profile_is_not_compared(core: Core, ada: Principal) -> None:
    core.memories.remember(ada, [Draft(BERLIN, owner=Owner("ada", "coder"))])
    fact = core.facts.remember(ada, LISBON).memory
    assert status(core, fact) is Status.ACTIVE
    assert doubts(core, ada) == []


def test_entries_of_the_companion_are_not_judged_against_each_other(core: Core, ada: Principal) -> None:
    def learned(text: str, **fields: Any) -> Draft:
        return Draft(text, category="history", confidence=0.9, governed_by=Governor.COMPANION, **fields)

    first, second = core.facts.remember_all(ada, [learned(BERLIN), learned(LISBON)])
    assert {status(core, first.memory), status(core, second.memory)} == {Status.ACTIVE}
    assert doubts(core, ada) == []


def test_learned_entry_that_contradicts_a_fact_puts_both_in_doubt(core: Core, ada: Principal) -> None:
    fact = core.facts.remember(ada, BERLIN).memory
    entry = Draft(LISBON, category="history", confidence=0.9, governed_by=Governor.COMPANION)
    (learned,) = core.facts.remember_all(ada, [entry])
    assert (status(core, fact), status(core, learned.memory)) == (Status.ACTIVE, Status.ACTIVE)
    assert doubts(core, ada) == [{fact.id, learned.memory.id}]


@pytest.mark.parametrize("confidence", [None, 1.0])
def test_what_was_stated_is_not_retired_by_what_was_extracted(
    core: Core, ada: Principal, confidence: float | None
) -> None:
    stated = core.memories.remember(ada, [Draft(BERLIN, confidence=confidence)])[0].memory
    (extracted,) = core.facts.remember_all(ada, [Draft(LISBON, confidence=0.9, governed_by=Governor.AGENT_TOOLS)])
    assert status(core, stated) is Status.ACTIVE
    assert doubts(core, ada) == [{stated.id, extracted.memory.id}]
    (sure,) = core.facts.remember_all(ada, [Draft("The user lives in Oslo.", confidence=1.0)])
    assert (status(core, stated), status(core, extracted.memory)) == (Status.ARCHIVED, Status.ARCHIVED)
    assert status(core, sure.memory) is Status.ACTIVE


def test_person_may_decide_against_what_another_door_keeps(core: Core, ada: Principal) -> None:
    kept = keep(core, ada, Governor.COMPANION)
    core.facts.remember(ada, LISBON)
    (pair,) = core.facts.in_doubt(ada).items
    core.facts.confirm(ada, pair.doubt.id)
    assert status(core, kept) is Status.ARCHIVED


@pytest.mark.parametrize("door", [Governor.COMPANION, Governor.CODING_ASSISTANT, Governor.LIFECYCLE])
def test_direct_write_that_contradicts_a_fact_is_put_in_doubt_later(
    open_with: OpenCore, ada: Principal, door: Governor
) -> None:
    judge = contradicting()
    core = open_with(judge=lambda: judge, background=False)
    fact = core.facts.remember(ada, LISBON).memory
    kept = keep(core, ada, door)
    assert (judge.asked, doubts(core, ada)) == ([], []), "the write waits for no judge"
    core.jobs.run_due(ada.tenant)
    assert judge.asked == [(BERLIN, LISBON)]
    assert (status(core, kept), status(core, fact)) == (Status.ACTIVE, Status.ACTIVE)
    assert doubts(core, ada) == [{kept.id, fact.id}]


def test_what_two_doors_keep_is_put_in_doubt_and_what_one_keeps_is_not(open_with: OpenCore, ada: Principal) -> None:
    core = open_with(judge=contradicting, background=False)
    chunk = keep(core, ada, Governor.CODING_ASSISTANT)
    first = core.companion.add(ada, LISBON, Category.HISTORY).memory
    core.companion.add(ada, LISBON, Category.HISTORY)
    core.jobs.run_due(ada.tenant)
    assert {chunk.id, first.id} in doubts(core, ada)
    assert all(chunk.id in pair for pair in doubts(core, ada))


def test_finding_is_no_statement_to_be_doubted(open_with: OpenCore, ada: Principal) -> None:
    core = open_with(judge=contradicting, background=False)
    core.facts.remember(ada, LISBON)
    core.companion.record(ada, Finding("f1", "home", "city", FindingVerdict.REJECTED, 0.1, BERLIN))
    core.facts.remember(ada, "The user lives in Oslo.")
    core.jobs.run_due(ada.tenant)
    assert doubts(core, ada) == []
