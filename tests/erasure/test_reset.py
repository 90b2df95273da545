"""A reset leaves nothing of its owner in any table or file, and an export brings the memories back."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pytest

from memorist.core import Core
from memorist.erasure.ledger import ledger_lines
from memorist.erasure.values import ErasureKind, ErasureStatus
from memorist.errors import Forbidden, StoreBusy
from memorist.ids import new_id
from memorist.memories.values import Draft, Memory, PastRecall
from memorist.platform.values import Owner, Principal, Role
from memorist.testing.clocks import START
from memorist.turns.values import Turn, TurnEvent, TurnStatus
from tests.erasure.plant import Planter, plant_key

Held = Callable[[Iterable[str]], set[str]]
Remember = Callable[..., Memory]


def write_turn(core: Core, principal: Principal, said: str) -> Turn:
    """A turn with an event that quotes it."""
    turn = Turn(
        new_id("turn"), Owner(principal.user, principal.agent), "session", TurnStatus.RUNNING, START,
        request=said, lease_until=START, attended_until=START,
    )  # fmt: skip

    def work(tx) -> None:
        tx.turns.insert(turn)
        tx.turns.append_event(turn.id, TurnEvent(1, "delta", {"text": f"delta of {said}"}, START))

    core.store.write(principal.tenant, work)
    return turn


def turns_of(core: Core, tenant: str, turn: Turn) -> tuple[Turn | None, list[TurnEvent]]:
    return core.store.read(tenant, lambda tx: (tx.turns.get(turn.id), tx.turns.events(turn.id, 0, 9)))


def test_turns_go_with_their_owner_from_the_tables_and_the_bytes(
    core: Core, ada: Principal, bob: Principal, held_by: Held
) -> None:
    gone, kept = write_turn(core, ada, "quetzalcoatl-marimba"), write_turn(core, bob, "xylophone-anteater")
    assert held_by(["quetzalcoatl-marimba", "delta of quetzalcoatl"]) == {
        "quetzalcoatl-marimba",
        "delta of quetzalcoatl",
    }
    core.erasure.reset(ada)
    assert turns_of(core, ada.tenant, gone) == (None, [])
    assert turns_of(core, ada.tenant, kept) != (None, [])
    assert held_by(["quetzalcoatl-marimba", "delta of quetzalcoatl"]) == set()
    assert held_by(["xylophone-anteater", "delta of xylophone"]) == {"xylophone-anteater", "delta of xylophone"}


def test_of_hundreds_of_markers_none_is_left(
    core: Core, ada: Principal, bob: Principal, rng: random.Random, held_by: Held
) -> None:
    gone, kept = Planter(rng), Planter(rng)
    kept.everywhere(core, bob, 100)
    gone.everywhere(core, ada, 400)
    before = list(core.transfer.export(bob))
    kept_before = held_by(kept.markers)
    receipt = core.erasure.reset(ada)
    assert held_by(gone.markers) == set()
    assert (receipt.kind, receipt.status) == (ErasureKind.RESET, ErasureStatus.DONE)
    assert receipt.verification is not None
    assert receipt.verification.ok, receipt.verification
    assert receipt.verification.samples > 100
    assert receipt.counts["turns"] > 0
    assert receipt.counts["turn_events"] > 0
    assert list(core.transfer.export(bob)) == before
    assert len(held_by(kept.markers)) >= 0.97 * len(kept_before)


def test_profile_goes_and_other_profiles_stay(core: Core, ada: Principal, remember: Remember) -> None:
    coder = replace(ada, agent="coder")
    kept, gone = write_turn(core, ada, "with nobody"), write_turn(core, coder, "with the coder")
    memory = remember(ada, "stays, whatever the coder is told")
    remember(coder, "what the coder was told")
    assert core.erasure.reset(coder).memories == 1
    assert turns_of(core, ada.tenant, gone) == (None, [])
    assert turns_of(core, ada.tenant, kept) != (None, [])
    assert [one.id for one in core.memories.list(ada).items] == [memory.id]


def test_tenant_keeps_its_keys_its_policy_and_its_receipts(
    core: Core, ada: Principal, admin: Principal, remember: Remember, rng: random.Random, held_by: Held
) -> None:
    gone, labels = Planter(rng), Planter(rng)
    gone.everywhere(core, ada, 60)
    plant_key(core, labels, ada.tenant, "ada")
    core.policies.change(admin, {"grace_days": 3})
    first = core.erasure.erase(ada, [remember(ada, "erased before the reset").id])
    receipt = core.erasure.reset(admin)
    assert held_by(gone.markers) == set()
    assert held_by(labels.markers) == set(labels.markers)
    assert [key.user for key in core.store.read(ada.tenant, lambda tx: tx.keys.all())] == ["ada"]
    assert core.store.read(ada.tenant, core.policies.of).windows.grace_days == 3
    assert core.erasure.receipts(admin) == [receipt, first]
    assert core.erasure.receipts(ada) == [first]


def test_export_brings_back_what_a_reset_took_and_not_what_was_erased(
    core: Core, ada: Principal, remember: Remember
) -> None:
    erased, kept = remember(ada, "erased for good"), remember(ada, "wanted again")
    core.ingestion.add_document(ada, title="notes", content="a short one", document_id="notes", shared=False)
    lines = list(core.transfer.export(ada))
    core.erasure.erase(ada, [erased.id])
    receipt = core.erasure.reset(ada)
    report = list(core.transfer.import_(ada, lines))[-1]
    assert (report.imported, report.erased) == (2, 1)
    assert core.memories.get(ada, kept.id).content == "wanted again"
    assert core.erasure.ids_of(receipt) == []
    assert core.erasure.verifier.verify(receipt).ok


def test_ledger_as_a_file_leaves_resets_out(core: Core, ada: Principal, remember: Remember) -> None:
    remember(ada)
    receipt = core.erasure.reset(ada)
    assert not any(receipt.id in line for line in ledger_lines(core.store, ada.tenant))


def test_interrupted_reset_is_finished_by_asking_again(
    core: Core, ada: Principal, remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(ada, "goes before the files are busy")
    scrub = core.store.scrub
    monkeypatch.setattr(core.store, "scrub", _busy)
    with pytest.raises(StoreBusy):
        core.erasure.reset(ada)
    (unfinished,) = core.erasure.receipts(ada)
    assert (unfinished.status, unfinished.request) == (ErasureStatus.SCRUBBING, None)
    monkeypatch.setattr(core.store, "scrub", scrub)
    remember(ada, "written since")
    assert core.erasure.reset(ada).memories == 1
    assert {one.status for one in core.erasure.receipts(ada)} == {ErasureStatus.DONE}
    assert core.erasure.ids_of(unfinished) == []


def _busy(*_: object, **__: object) -> Iterator[str]:
    raise StoreBusy


def test_question_that_another_process_noted_before_is_not_written_after(
    core: Core, ada: Principal, admin: Principal, remember: Remember
) -> None:
    shared = remember(admin, "known to all of us", owner=Owner())
    asked = PastRecall(shared.id, core.clock.now(), "rec_1", "ada", None, "library", "my secret question", 1, 0.5)
    receipt = core.erasure.reset(ada)
    purges = core.store.read(ada.tenant, lambda tx: tx.ledger.purges_since(asked.at))
    assert purges == [(receipt.salt, receipt.subject, receipt.started_at)]


def test_fact_that_others_learned_from_it_stays_without_its_source(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Remember
) -> None:
    core.policies.change(admin, {"derived_facts": "erase"})
    source = remember(ada, "said by ada")
    fact = remember(bob, "learned of it", source_ref=source.id)
    assert core.erasure.reset(ada).memories == 1
    assert core.memories.get(bob, fact.id).source_ref is None


def test_readers_and_services_for_nobody_are_refused(core: Core, tenant: str) -> None:
    core.memories.remember(Principal(tenant, Role.USER, "ada"), [Draft("a text")])
    for principal in (Principal(tenant, Role.READER, "ada"), Principal(tenant, Role.SERVICE)):
        with pytest.raises(Forbidden):
            core.erasure.reset(principal)
    assert core.erasure.receipts(Principal(tenant, Role.ADMIN)) == []
