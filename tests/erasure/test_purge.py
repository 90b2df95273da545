"""Purging a user: nothing is left in any place, nobody else loses anything, and the receipt says what happened."""

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.bootstrap import open_core
from memorist.context.companion import Category
from memorist.core import Core
from memorist.erasure.samples import strings_in, texts_of
from memorist.erasure.values import ErasureKind, ErasureStatus
from memorist.errors import Forbidden, InvalidField, NotFound
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Memory
from memorist.platform import access
from memorist.platform.values import Event, Owner, Principal, Role
from memorist.settings import Settings
from memorist.testing import StepClock, make_memory, make_turn
from memorist.testing.clocks import START
from memorist.turns.values import Turn, TurnEvent, TurnStatus
from tests.erasure.plant import Planter, plant_key
from tests.support.stores import bare

Held = Callable[[Iterable[str]], set[str]]


def everything_of(core: Core, principal: Principal) -> list[str]:
    return list(core.transfer.export(principal))


def test_of_a_thousand_markers_none_is_left(
    core: Core, settings: Settings, ada: Principal, bob: Principal, admin: Principal, rng: random.Random, held_by: Held
) -> None:
    gone, kept = Planter(rng), Planter(rng)
    kept.everywhere(core, bob, 200)
    gone.everywhere(core, ada, 1000)
    plant_key(core, gone, ada.tenant, "ada")
    plant_key(core, kept, ada.tenant, "bob")
    before = everything_of(core, bob)
    planted = held_by(gone.markers)
    assert len(gone.markers) >= 1000
    # In a file a few stand across two pages; rows are read whole.
    assert len(planted) >= (0.97 if settings.sqlite_path() else 1) * len(gone.markers)
    kept_before = held_by(kept.markers)

    receipt = core.erasure.purge_user(admin, "ada", keys=True)

    assert held_by(gone.markers) == set()
    assert receipt.status is ErasureStatus.DONE
    assert receipt.verification is not None
    assert receipt.verification.ok, receipt.verification
    assert receipt.verification.samples > 300
    assert everything_of(core, bob) == before
    assert len(held_by(kept.markers)) >= 0.97 * len(kept_before)
    assert core.store.check(thorough=False)[f"tenant {ada.tenant}"] == "ok"


def test_receipt_counts_what_went_from_where(
    core: Core, ada: Principal, bob: Principal, remember: Callable[..., Memory]
) -> None:
    for number in range(7):
        memory = remember(ada, f"fact {number}")
        if number < 3:
            core.memories.forget(ada, memory.id)
    remember(bob)
    core.ingestion.add_tool_output(ada, "s", tool_call_id="c", tool_name="t", content="long " * 2000)
    core.ingestion.add_document(ada, title="notes", content="a short one", shared=False)
    core.memories.remember(ada, [Draft("with a key")], idempotency_key="k")
    assert core.erasure.preview(ada)["memories"] == 10

    receipt = core.erasure.purge_user(ada)

    counts = {table: count for table, count in receipt.counts.items() if count}
    assert counts == {
        "memories": 10,
        "memory_index": 10,
        "memory_events": 13,
        "tool_outputs": 1,
        "documents": 1,
        "idempotency_keys": 1,
    }
    assert receipt.kind is ErasureKind.USER
    assert receipt.asked_by == {"role": "user", "key": None, "source": "library", "self": True}
    assert core.erasure.preview(bob)["memories"] == 1
    assert core.erasure.preview(ada) == dict.fromkeys(core.erasure.preview(ada), 0)


def test_receipt_and_ledger_name_nobody(core: Core, tenant: str, rng: random.Random, held_by: Held) -> None:
    """The user's own name is a marker."""
    name = Planter(rng).word()
    person = Principal(tenant, Role.USER, name)
    core.memories.remember(person, [Draft("something")], idempotency_key="k")
    assert held_by([name]) == {name}
    receipt = core.erasure.purge_user(person)
    assert held_by([name]) == set()
    assert name not in repr(receipt)
    assert core.erasure.get(person, receipt.id).id == receipt.id


def test_user_who_comes_back_begins_anew(core: Core, ada: Principal, remember: Callable[..., Memory]) -> None:
    remember(ada, "before")
    receipt = core.erasure.purge_user(ada)
    fresh = remember(ada, "after")
    assert [memory.content for memory in core.memories.list(ada).items] == ["after"]
    assert core.erasure.verifier.verify(receipt).ok
    assert core.memories.get(ada, fresh.id).content == "after"


def test_who_may_purge_whom(core: Core, ada: Principal, bob: Principal, admin: Principal, tenant: str) -> None:
    reader = Principal(tenant, Role.READER, "ada")
    service = Principal(tenant, Role.SERVICE)
    for principal, user, error in (
        (ada, "bob", Forbidden),
        (reader, None, Forbidden),
        (service, None, InvalidField),
        (admin, None, InvalidField),
    ):
        with pytest.raises(error):
            core.erasure.purge_user(principal, user)
    with pytest.raises(Forbidden):
        core.erasure.purge_user(ada, keys=True)
    receipt = core.erasure.purge_user(service, "ada")
    assert core.erasure.get(ada, receipt.id) == core.erasure.get(admin, receipt.id) == receipt
    with pytest.raises(NotFound):
        core.erasure.get(bob, receipt.id)
    assert core.erasure.receipts(bob) == []
    assert core.erasure.receipts(ada) == core.erasure.receipts(admin) == [receipt]


def test_other_users_texts_that_are_the_same_are_no_alarm(core: Core, ada: Principal, bob: Principal) -> None:
    text = "the very same sentence, which two people said"
    for principal in (ada, bob):
        core.memories.remember(principal, [Draft(text)])
    verification = core.erasure.purge_user(ada).verification
    assert verification is not None
    assert verification.ok
    assert [memory.content for memory in core.memories.list(bob).items] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "last_accessed_at",  # A column.
        "turns_of_session",  # An index.
        "looking_back",  # A migration.
        "samples_in_files",  # A field of receipts.
        "tests.erasure.source",  # Who asked for an erasure.
        "deduplicated",  # An event of a memory.
        "chat_message",  # A kind.
        "agent.completed",  # An event of a turn.
        "anonymize_after_days",  # A rule of a policy.
    ],
)
def test_words_of_our_own_are_no_alarm(core: Core, ada: Principal, bob: Principal, admin: Principal, text: str) -> None:
    core.policies.change(admin, {"grace_days": 7})
    for _ in range(2):
        core.memories.remember(bob, [Draft("said twice, and so told in its history")])
    core.ingestion.add_messages(bob, "s1", [Message("user", "a message of somebody else")], extract=False)
    held = {"lease_until": START, "attended_until": START}
    turn = Turn(new_id("turn"), Owner("bob"), "s1", TurnStatus.RUNNING, START, **held)
    core.store.write(ada.tenant, lambda tx: tx.turns.insert(turn))
    core.store.write(ada.tenant, lambda tx: tx.turns.append_event(turn.id, TurnEvent(1, "agent.completed", {}, START)))
    asking = replace(ada, source="tests.erasure.source")
    core.erasure.erase(asking, [core.memories.remember(ada, [Draft("something else before")])[0].memory.id])

    memory = core.memories.remember(ada, [Draft(text)])[0].memory
    verification = core.erasure.erase(asking, [memory.id]).verification
    assert verification is not None
    assert verification.ok
    assert verification.samples == 1


def test_tenants_name_is_no_alarm(own_database_url: str) -> None:
    core = open_core(bare(own_database_url))
    core.identity.create_tenant("a-name-that-is-long")
    somebody = Principal("a-name-that-is-long", Role.USER, "ada")
    memory = core.memories.remember(somebody, [Draft("a-name-that-is-long")])[0].memory
    verification = core.erasure.erase(somebody, [memory.id]).verification
    core.close()
    assert verification is not None
    assert verification.ok


def test_what_others_still_say_is_no_alarm_in_a_tenant_that_nobody_entered(own_database_url: str) -> None:
    core = open_core(bare(own_database_url))
    ada, bob = (Principal("nowhere", Role.USER, user) for user in ("ada", "bob"))
    for principal in (ada, bob):
        core.memories.remember(principal, [Draft("the very same sentence, which two people said")])
    assert core.store.list_tenants() == []
    verification = core.erasure.purge_user(ada).verification
    core.close()
    assert verification is not None
    assert verification.ok


def test_hash_of_what_others_said_or_asked_for_is_no_alarm(core: Core, ada: Principal, bob: Principal) -> None:
    """A tool's output is kept with its hash, and so are texts and requests of others."""
    for output in ("Deployed to staging.", "[]"):
        core.ingestion.add_tool_output(ada, "a-session", tool_call_id="call", tool_name="tool", content=output)
    core.memories.remember(bob, [Draft("Deployed to staging.")])
    core.memories.remember(bob, [], idempotency_key="nothing-was-found")
    verification = core.erasure.purge_user(ada).verification
    assert verification is not None
    assert verification.ok, verification


def test_names_in_what_was_extracted_are_no_alarm(core: Core, ada: Principal, remember: Callable[..., Memory]) -> None:
    """They are the names of columns too."""
    memory = remember(ada, "I want to run a marathon")
    told = {"extractor": "a model", "input_tokens": 100, "output_tokens": 10, "cost_usd": 0.1, "memories": []}
    core.store.write(
        ada.tenant, lambda tx: tx.events.append([Event(memory.id, "extracted", "test", START, "ada", told)])
    )
    verification = core.erasure.purge_user(ada).verification
    assert verification is not None
    assert verification.ok
    # Of names and texts: what was said, once, and the name of the extractor is too short.
    assert verification.samples == 1


def test_names_that_somebody_chose_are_looked_for() -> None:
    before = {"before": {"importance": 3, "meta": {"name of a friend": {"his telephone number": [1, "at the office"]}}}}
    assert strings_in(before) == ["name of a friend", "his telephone number", "at the office"]
    memory = make_memory("t", content="a text", meta={"name of a friend": 1})
    assert "name of a friend" in texts_of(memory)


def test_key_of_who_read_for_the_user_is_no_alarm(core: Core, ada: Principal, admin: Principal) -> None:
    """The history of an entry names it, and the key lives on."""
    key, _ = core.identity.create_key(admin, Role.SERVICE)
    core.companion.add(ada, "I want to run every day", Category.GOAL)
    reading = access.acting(Principal(ada.tenant, Role.SERVICE, key_id=key.id), user="ada")
    (entry,) = core.companion.list(reading).items
    assert key.id in [event.payload.get("key") for event in core.memories.events(ada, entry.id)]
    verification = core.erasure.purge_user(admin, "ada").verification
    assert verification is not None
    assert verification.ok, verification
    assert [one.id for one in core.identity.list_keys(admin)] == [key.id]


def test_receipt_and_turn_that_a_memory_named_are_no_alarm(core: Core, ada: Principal) -> None:
    turn = make_turn(status=TurnStatus.COMPLETED)
    core.store.write(ada.tenant, lambda tx: tx.turns.insert(turn))
    said = core.memories.remember(ada, [Draft("what was said in the turn", source_ref=turn.id)])[0].memory
    learned = core.memories.remember(ada, [Draft("what was learned of it", source_ref=said.id)])[0].memory
    for memory_id in (said.id, learned.id):
        verification = core.erasure.erase(ada, [memory_id]).verification
        assert verification is not None
        assert verification.ok, verification


def test_reads_that_were_not_written_yet_are_dropped(
    core: Core, ada: Principal, remember: Callable[..., Memory], clock: StepClock
) -> None:
    memory = remember(ada)
    core.memories.get(ada, memory.id)
    core.erasure.purge_user(ada)
    assert core.accesses.overlay(memory) == memory
    clock.advance(timedelta(seconds=2))
    core.accesses.flush()


def test_shared_memories_and_those_of_agents_stay(core: Core, ada: Principal, admin: Principal) -> None:
    shared = core.memories.remember(admin, [Draft("for everybody", owner=Owner())])[0].memory
    agent = Principal(ada.tenant, Role.SERVICE, "ada", "coder")
    of_agent = core.memories.remember(agent, [Draft("for the agent", owner=Owner(agent="coder"))])[0].memory
    core.erasure.purge_user(ada)
    assert core.memories.get(admin, shared.id).content == "for everybody"
    assert core.memories.get(admin, of_agent.id).content == "for the agent"
    # Who wrote it is told no more.
    assert {event.actor for event in core.memories.events(admin, of_agent.id)} == {None}
