"""What one process writes, the next recall of every other sees, whatever its shelves held before."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.memories import writing
from memorist.memories.values import Draft, Memory, Status
from memorist.platform.values import Owner, Principal, Role
from memorist.ports import Writer
from memorist.testing import make_event, make_memory
from tests.recall.conftest import OpenCore, ask, found, make_tenant, remember, reword, say, texts
from tests.support.models import WordEmbedder
from tests.support.stores import bare, checked


@pytest.fixture
def cores(open_with: OpenCore) -> tuple[Core, Core]:
    """Two processes' worth of caches over one database."""
    return open_with(WordEmbedder(), min_score=0.02), open_with(WordEmbedder(), min_score=0.05)


@pytest.fixture
def ada(cores: tuple[Core, Core]) -> Principal:
    return Principal(make_tenant(cores[0]), Role.USER, "ada")


def change(core: Core, memory: Memory, **fields: object) -> Memory:
    """Change a row as the store does it, whatever the core would say."""
    after = replace(memory, updated_at=memory.updated_at + timedelta(seconds=1), **fields)
    assert core.store.write(memory.tenant, lambda tx: writing.replace(tx, after, memory.updated_at))
    return after


def test_write_is_seen_by_the_other_core_at_once(cores: tuple[Core, Core], ada: Principal) -> None:
    one, two = cores
    for number in range(10):
        writer, reader = (one, two) if number % 2 else (two, one)
        memory = remember(writer, ada, f"number{number} is here")
        assert found(reader, ada, f"number{number}")[0] == memory.id
        assert not ask(reader, ada, f"number{number}").degraded


def test_edit_is_seen_by_the_other_core_at_once(cores: tuple[Core, Core], ada: Principal) -> None:
    one, two = cores
    memory = remember(one, ada, "the teapot is blue")
    assert texts(ask(two, ada, "teapot")) == ["the teapot is blue"]
    one.memories.edit(ada, memory.id, {"content": "the kettle is green"})
    assert texts(ask(two, ada, "teapot")) == []
    assert texts(ask(two, ada, "kettle")) == ["the kettle is green"]
    two.memories.edit(ada, memory.id, {"content": "the teapot is blue"})
    assert texts(ask(one, ada, "teapot")) == ["the teapot is blue"]


def test_deletion_and_archiving_are_seen_by_the_other_core_at_once(cores: tuple[Core, Core], ada: Principal) -> None:
    one, two = cores
    forgotten, archived, expired = (remember(one, ada, f"a {word} teapot") for word in ("blue", "red", "old"))
    assert len(found(two, ada, "teapot")) == 3
    one.memories.forget(ada, forgotten.id)
    assert set(found(two, ada, "teapot")) == {archived.id, expired.id}
    change(one, archived, status=Status.ARCHIVED)
    assert found(two, ada, "teapot") == [expired.id]
    change(one, expired, expires_at=one.clock.now())
    assert found(two, ada, "teapot") == []


def test_restored_memory_is_seen_again(cores: tuple[Core, Core], ada: Principal) -> None:
    one, two = cores
    memory = remember(one, ada, "a blue teapot")
    archived = change(one, memory, status=Status.ARCHIVED)
    assert found(two, ada, "teapot") == []
    change(one, archived, status=Status.ACTIVE)
    assert found(two, ada, "teapot") == [memory.id]


@pytest.mark.parametrize("erased", [1, 2, 5, 40])
def test_erased_rows_make_room_for_those_that_come_after(cores: tuple[Core, Core], ada: Principal, erased: int) -> None:
    """However many there were, in whichever process they were seen: their numbers and their places are free."""
    one, two = cores
    kept = remember(one, ada, "a teapot that stays")
    gone = [result.memory.id for result in one.memories.remember(ada, [Draft(f"teapot {n}") for n in range(erased)])]
    assert found(two, ada, "teapot", top_k=20)
    assert found(one, ada, "teapot", top_k=20)
    one.store.write(ada.tenant, lambda tx: tx.erasure.erase_rows(gone))
    new = [remember(one, ada, f"another teapot {number}").id for number in range(max(1, erased - 1))]
    for core in (two, one):
        assert set(found(core, ada, "teapot", top_k=20, min_score=0)) <= {kept.id, *new}
        assert set(found(core, ada, "teapot stays", min_score=0)) & {kept.id}
        for number, memory_id in enumerate(new[:3]):
            assert memory_id in found(core, ada, f"another teapot {number}", top_k=20)


def test_reset_and_new_beginning_are_seen_by_the_other_core(cores: tuple[Core, Core], ada: Principal) -> None:
    one, two = cores
    one.memories.remember(ada, [Draft(f"teapot {number}") for number in range(30)])
    assert len(found(two, ada, "teapot", top_k=20)) == 20
    one.erasure.reset(ada)
    assert found(two, ada, "teapot") == []
    memory = remember(one, ada, "one teapot")
    assert found(two, ada, "teapot") == [memory.id]
    assert found(one, ada, "teapot") == [memory.id]


def test_import_is_seen_by_the_other_core(cores: tuple[Core, Core], ada: Principal) -> None:
    one, two = cores
    remember(one, ada, "a blue teapot")
    lines = list(one.transfer.export(ada))
    other = Principal(make_tenant(one), Role.USER, "ada")
    assert found(two, other, "teapot") == []
    list(one.transfer.import_(other, lines))
    assert texts(ask(two, other, "teapot")) == ["a blue teapot"]
    assert not ask(two, other, "teapot").degraded


def test_memory_that_changes_hands_is_found_by_its_new_owner_alone(cores: tuple[Core, Core], ada: Principal) -> None:
    one, two = cores
    memory = remember(one, ada, "a blue teapot")
    bob = replace(ada, user="bob")
    assert (found(two, ada, "teapot"), found(two, bob, "teapot")) == ([memory.id], [])
    change(one, memory, owner=Owner("bob"))
    for core in cores:
        assert (found(core, ada, "teapot"), found(core, bob, "teapot")) == ([], [memory.id])
    assert checked(one.store, ada.tenant) == "ok"


def test_answer_that_was_edited_is_still_found_through_its_question(cores: tuple[Core, Core], ada: Principal) -> None:
    one, two = cores
    say(one, ada, "When does the marathon start?", ("assistant", "At noon!"), "And what shall we eat?")
    answer = say(one, ada, "Did the parcel with the harpsichord arrive?", ("assistant", "Yes, last Friday!"))[1]
    assert found(two, ada, "harpsichord parcel", top_k=2)[1] == answer.id
    for content in ("Yes, last Monday!", "Yes, on Sunday!"):
        reword(one, answer, content)
        say(one, ada, "Fine.", "Let us talk of something else now.")
        for core in cores:
            assert texts(ask(core, ada, "harpsichord parcel", top_k=2))[1] == content


# PostgreSQL: transactions that overlap


def hold_open(core: Core, memory: Memory, release: threading.Event, written: threading.Event) -> threading.Thread:
    """Insert in a transaction that stays open until it is released."""

    def work(tx: Writer) -> None:
        writing.insert(tx, memory)
        tx.events.append([make_event(memory)])
        written.set()
        assert release.wait(30)

    thread = threading.Thread(target=lambda: core.store.write(memory.tenant, work))
    thread.start()
    assert written.wait(30)
    return thread


def test_transactions_that_commit_out_of_order_are_all_seen(postgres_url: str) -> None:
    one, two, three = (open_core(bare(postgres_url)) for _ in range(3))
    tenant = make_tenant(one)
    ada = Principal(tenant, Role.USER, "ada")
    remember(one, ada, "the first teapot")
    assert len(found(three, ada, "teapot")) == 1
    releases = [threading.Event(), threading.Event()]
    slow = [make_memory(tenant, content=f"a slow{number} teapot") for number in range(2)]
    threads = [
        hold_open(core, memory, release, threading.Event())
        for core, memory, release in zip((one, two), slow, releases, strict=True)
    ]
    quick = remember(three, ada, "a quick teapot")
    assert found(three, ada, "quick") == [quick.id]
    assert len(found(three, ada, "teapot", top_k=20)) == 2
    for number in (1, 0):
        releases[number].set()
        threads[number].join(30)
        later = remember(three, ada, f"teapot in between {number}")
        assert slow[number].id in found(three, ada, f"slow{number}")
        assert later.id in found(three, ada, "teapot in between", top_k=20)
    assert len(found(three, ada, "teapot", top_k=20)) == 6
    for core in (one, two, three):
        core.close()
