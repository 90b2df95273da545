"""What happened lately: changes of facts, what was said today, and what was asked; each to those who see it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from memorist.core import Core
from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Memory
from memorist.platform.values import Owner, Principal, Role
from memorist.recall.values import Question
from memorist.testing import StepClock


def test_changes_tell_the_last_of_each_fact(
    core: Core, ada: Principal, bob: Principal, remember: Callable[..., Memory]
) -> None:
    kept, gone = remember(ada, "Ada lives in Kiel."), remember(ada, "Ada smokes.")
    remember(bob, "Bob's own.")
    core.ingestion.add_messages(ada, "s", [Message("user", "Hello")])
    core.retention.delete(ada, gone.id)
    told = [(one.what, one.memory.id) for one in core.latest.changes(ada, limit=5)]
    assert told == [("deleted", gone.id), ("created", kept.id)]
    assert [one.memory.content for one in core.latest.changes(bob, limit=5)] == ["Bob's own."]
    assert len(core.latest.changes(ada, limit=1)) == 1


def test_changes_of_other_profiles_are_not_told(core: Core, ada: Principal) -> None:
    core.memories.remember(replace(ada, agent="coder"), [Draft("the coder's")])
    assert [one.memory.content for one in core.latest.changes(ada, limit=5)] == ["the coder's"]
    assert core.latest.changes(replace(ada, agent="writer"), limit=5) == []


def test_replaced_fact_names_what_took_its_place(core: Core, ada: Principal) -> None:
    older = core.facts.remember(ada, "The user lives in Bonn.").memory
    newer = core.facts.remember(ada, "The user lives in Kiel.").memory
    core.store.write(ada.tenant, lambda tx: core.facts.retire(tx, ada, older, newer, {"reason": "moved", "judge": "x"}))
    changes = {one.memory.id: one for one in core.latest.changes(ada, limit=5)}
    assert changes[older.id].what == "superseded"
    assert getattr(changes[older.id].by, "id", None) == newer.id


def test_talks_are_those_of_today(core: Core, ada: Principal, bob: Principal, clock: StepClock) -> None:
    core.ingestion.add_messages(ada, "yesterday", [Message("user", "Old")])
    clock.advance(timedelta(days=1))
    core.ingestion.add_messages(ada, "today", [Message("user", "Hello"), Message("assistant", "Good morning")])
    core.ingestion.add_messages(
        ada, "imported", [Message("user", "Long ago", event_time=clock.now() - timedelta(days=400))]
    )
    (talk,) = core.latest.talks(ada)
    assert (talk.session, talk.messages, talk.last.content, talk.is_counted) == ("today", 2, "Good morning", True)
    assert talk.title == "Hello"
    assert core.latest.talks(bob) == []
    core.ingestion.add_messages(bob, "today", [Message("user", "Hello")])
    everybody = Principal(ada.tenant, Role.ADMIN)
    assert [(talk.last.user, talk.messages) for talk in core.latest.talks(everybody)] == [("bob", 1), ("ada", 2)]


def test_what_was_asked_is_told_to_who_asked(core: Core, ada: Principal, bob: Principal, admin: Principal) -> None:
    core.memories.remember(admin, [Draft("We close at six.", owner=Owner())])
    core.recall.recall(ada, Question("When do we close?"))
    core.recall.recall(replace(bob, agent="coder"), Question("close at six"))
    core.accesses.flush()
    now = core.clock.now()
    assert [one.recall.query for one in core.recall_history.lately(ada, now, limit=5)] == ["When do we close?"]
    everybody = core.recall_history.lately(admin, now, limit=5)
    assert {(one.recall.query, one.memory.content) for one in everybody} == {
        ("When do we close?", "We close at six."),
        ("close at six", "We close at six."),
    }
    (used,) = core.recall_history.usage(bob, now - timedelta(days=1))
    assert (used.agent, used.questions, used.memories, used.day) == ("coder", 1, 1, now.date())
    assert core.recall_history.usage(bob, now + timedelta(days=1)) == []
