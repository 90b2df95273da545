"""What a judge wrote of two facts quotes both: with one of them it goes from the history of the other."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from memorist.bootstrap import open_store
from memorist.core import Core
from memorist.erasure import naming
from memorist.facts.values import Ruling, Verdict
from memorist.memories.values import Memory, Status
from memorist.options import Options
from memorist.platform.values import Event, Principal
from memorist.ports import Writer
from memorist.settings import Settings
from memorist.testing import StepClock
from memorist.testing.clocks import START
from tests.support.models import WordEmbedder

Held = Callable[[Iterable[str]], set[str]]

SECRET = "Zyxelwerke"
OLD, BESIDE, NEW = f"Ada works at {SECRET}.", "Ada works at night.", "Ada works at Quxcorp."


class QuotingJudge:
    """Finds that the new employer contradicts the old one and nothing else, and quotes the older fact in any case."""

    name = "quoting"
    is_local = True

    def judge(self, pairs: Sequence[tuple[Memory, Memory]]) -> list[Verdict]:
        return [
            Verdict(
                Ruling.CONTRADICTS if (new.content, old.content) == (NEW, OLD) else Ruling.UNRELATED,
                f"The older one says: {old.content}",
                0.9,
            )
            for new, old in pairs
        ]


@pytest.fixture
def core(settings: Settings, clock: StepClock) -> Iterator[Core]:
    store = open_store(settings)
    store.migrator.migrate(START)
    options = Options(embedder=WordEmbedder, judge=QuotingJudge)
    core = Core(store, clock, options, background=False)
    yield core
    core.close()


@pytest.fixture
def facts(core: Core, ada: Principal) -> list[Memory]:
    """One that is retired, one that was judged against it, and the one that retired it."""
    told = [core.facts.remember(ada, text).memory for text in (OLD, BESIDE, NEW)]
    retired = core.store.read(ada.tenant, lambda tx: tx.memories.get(told[0].id))
    assert retired is not None
    assert (retired.status, retired.superseded_by) == (Status.ARCHIVED, told[2].id)
    return told


@pytest.fixture
def retired(core: Core, admin: Principal, facts: list[Memory], clock: StepClock) -> list[Memory]:
    """The same once the one that is retired is to be anonymized."""
    core.policies.change(admin, {"mode": "enforce"})
    clock.advance(timedelta(days=31))
    return facts


def payloads(core: Core, ada: Principal, fact: Memory, event_type: str) -> list[dict[str, object]]:
    events = core.store.read(ada.tenant, lambda tx: tx.events.of([fact.id]))
    return [dict(event.payload) for event in events if event.event_type == event_type]


def test_reason_that_quotes_an_erased_fact_goes_with_it(
    core: Core, ada: Principal, facts: list[Memory], held_by: Held
) -> None:
    old, beside, new = facts
    assert held_by([SECRET]) == {SECRET}

    receipt = core.erasure.erase(ada, [old.id])

    assert held_by([SECRET, old.id.removeprefix("mem_")]) == set()
    assert receipt.verification is not None
    assert receipt.verification.ok
    assert payloads(core, ada, new, "supersedes") == [{"id": None, "judge": "quoting", "confidence": 0.9}]
    of_erased = {"against": None, "verdict": "contradicts", "confidence": 0.9}
    of_other = {
        "against": beside.id,
        "verdict": "unrelated",
        "reason": f"The older one says: {BESIDE}",
        "confidence": 0.9,
    }
    [judged] = payloads(core, ada, new, "judged")
    assert judged["verdicts"] == [of_erased, of_other], "what was said of another fact stays"


def test_reason_that_quotes_an_erased_successor_goes_with_it(
    core: Core, ada: Principal, facts: list[Memory], held_by: Held
) -> None:
    old, _, new = facts
    core.erasure.erase(ada, [new.id])
    assert held_by([NEW, new.id.removeprefix("mem_")]) == set()
    assert payloads(core, ada, old, "superseded") == [{"by": None, "judge": "quoting", "confidence": 0.9}]


def test_reason_that_quotes_an_anonymized_fact_is_in_nobodys_history(
    core: Core, ada: Principal, retired: list[Memory]
) -> None:
    old, beside, new = retired
    assert core.sweeper.sweep(ada.tenant).done == {"anonymized": {"fact": 1}}
    events = core.store.read(ada.tenant, lambda tx: tx.events.of([one.id for one in retired]))
    assert SECRET not in str(events)
    [judged] = payloads(core, ada, beside, "judged")
    assert judged["verdicts"] == [{"against": old.id, "verdict": "unrelated", "confidence": 0.9}]
    assert [event["id"] for event in payloads(core, ada, new, "supersedes")] == [old.id], "it says what it replaced"


def test_reason_that_comes_while_facts_are_anonymized_goes_too(
    core: Core, ada: Principal, retired: list[Memory], clock: StepClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, _, new = retired
    purge_quotes = core.erasure.purge_quotes

    def then_noted(tenant: str, memory_ids: Collection[str]) -> Callable[[Writer, Collection[str]], None]:
        purge_new = purge_quotes(tenant, memory_ids)
        late = Event(new.id, "judged", "", clock.now(), payload={"verdicts": [{"against": old.id, "reason": SECRET}]})
        core.store.write(tenant, lambda tx: tx.events.append([late]))
        return purge_new

    monkeypatch.setattr(core.erasure, "purge_quotes", then_noted)
    assert core.sweeper.sweep(ada.tenant).done == {"anonymized": {"fact": 1}}
    assert {"verdicts": [{"against": old.id}]} in payloads(core, ada, new, "judged")


def test_what_is_erased_while_a_sweep_looks_for_quotes_does_not_come_back(
    core: Core, ada: Principal, retired: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, beside, new = retired
    found = naming.quotes_of
    erased: list[str] = []

    def then_erased(*given: Any, **named: Any) -> naming.Quotes:
        quotes = found(*given, **named)
        if not erased:
            erased.append(beside.id)
            assert core.erasure.erase(ada, [beside.id]).verification.ok  # type: ignore[union-attr]
        return quotes

    monkeypatch.setattr("memorist.erasure.service.quotes_of", then_erased)
    assert core.sweeper.sweep(ada.tenant).done == {"anonymized": {"fact": 1}}
    told = str(payloads(core, ada, new, "judged"))
    assert BESIDE not in told
    assert beside.id not in told
    assert SECRET not in told
