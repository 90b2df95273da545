"""A request with an idempotency key has one effect, however often and from wherever it is sent."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import Forbidden, IdempotencyInFlight, IdempotencyMismatch, InvalidField, NotFound, StaleVersion
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Kind, Memory
from memorist.platform.idempotency import REMEMBERED_FOR
from memorist.platform.values import Owner, Principal, Role
from memorist.testing import StepClock
from tests.support.jobs import remember_under_key
from tests.support.processes import in_processes
from tests.support.stores import bare

Remember = Callable[..., Memory]


def said(text: str) -> list[Draft]:
    """A draft that would be stored again each time, were it not for the key."""
    return [Draft(text, kind=Kind.CHAT_MESSAGE, meta={"b": 1, "a": [2]})]


def count(core: Core, principal: Principal) -> int:
    return len(core.memories.list(principal, limit=100).items)


def test_repeated_request_gives_the_first_answer_and_no_second_effect(core: Core, ada: Principal) -> None:
    first = core.memories.remember(ada, said("hello"), idempotency_key="k")
    again = core.memories.remember(ada, said("hello"), idempotency_key="k")
    assert [result.replayed for result in first + again] == [False, True]
    assert [replace(result, replayed=False) for result in again] == first
    assert count(core, ada) == 1


def test_request_without_a_key_has_an_effect_each_time(core: Core, ada: Principal) -> None:
    for _ in range(2):
        core.memories.remember(ada, said("hello"))
    assert count(core, ada) == 2


def test_replayed_answer_is_the_old_one_even_after_a_change(core: Core, ada: Principal) -> None:
    (first,) = core.memories.remember(ada, said("hello"), idempotency_key="k")
    core.memories.edit(ada, first.memory.id, {"importance": 3})
    core.memories.forget(ada, first.memory.id)
    (again,) = core.memories.remember(ada, said("hello"), idempotency_key="k")
    assert again.memory == first.memory


def test_same_request_in_another_order_of_keys_is_the_same(core: Core, ada: Principal) -> None:
    core.memories.remember(ada, [Draft("x", meta={"a": 1, "b": 2})], idempotency_key="k")
    assert core.memories.remember(ada, [Draft("x", meta={"b": 2, "a": 1})], idempotency_key="k")[0].replayed


@pytest.mark.parametrize(
    "other",
    [said("goodbye"), [*said("hello"), *said("hello")], [], [Draft("hello")]],
    ids=["text", "more", "none", "kind"],
)
def test_another_request_under_the_key_is_refused(core: Core, ada: Principal, other: list[Draft]) -> None:
    core.memories.remember(ada, said("hello"), idempotency_key="k")
    with pytest.raises(IdempotencyMismatch) as caught:
        core.memories.remember(ada, other, idempotency_key="k")
    assert caught.value.code == "idempotency_mismatch"
    assert count(core, ada) == 1


def test_another_session_is_another_request_whoever_names_it(core: Core, ada: Principal) -> None:
    within = replace(ada, session="s1")
    core.memories.remember(within, said("hello"), idempotency_key="k")
    named = [replace(one, session="s1") for one in said("hello")]
    assert core.memories.remember(ada, named, idempotency_key="k")[0].replayed
    with pytest.raises(IdempotencyMismatch):
        core.memories.remember(replace(ada, session="s2"), said("hello"), idempotency_key="k")
    with pytest.raises(IdempotencyMismatch):
        core.memories.remember(ada, said("hello"), idempotency_key="k")
    assert count(core, ada) == 1


@pytest.mark.parametrize("extract", [True, False])
def test_messages_to_be_read_for_facts_or_not_are_another_request(core: Core, ada: Principal, extract: bool) -> None:
    messages = [Message("user", "hello")]
    core.ingestion.add_messages(ada, "s", messages, extract=extract, idempotency_key="k")
    assert core.ingestion.add_messages(ada, "s", messages, extract=extract, idempotency_key="k")[0].replayed
    with pytest.raises(IdempotencyMismatch):
        core.ingestion.add_messages(ada, "s", messages, extract=not extract, idempotency_key="k")


def test_edit_is_replayed(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    first = core.memories.edit(ada, memory.id, {"content": "new"}, expected_version=memory.version, idempotency_key="k")
    core.memories.edit(ada, memory.id, {"content": "newer"})
    again = core.memories.edit(ada, memory.id, {"content": "new"}, expected_version=memory.version, idempotency_key="k")
    assert again == first
    assert core.memories.get(ada, memory.id).content == "newer"
    with pytest.raises(IdempotencyMismatch):
        core.memories.edit(ada, memory.id, {"content": "other"}, idempotency_key="k")
    with pytest.raises(StaleVersion):
        core.memories.edit(ada, memory.id, {"content": "x"}, expected_version=memory.version, idempotency_key="k2")


def test_forget_is_replayed(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    first = core.memories.forget(ada, memory.id, idempotency_key="k")
    assert core.memories.forget(ada, memory.id, idempotency_key="k") == first
    with pytest.raises(NotFound):
        core.memories.forget(ada, memory.id, idempotency_key="another")


def test_meta_with_keys_of_several_types_can_be_repeated(core: Core, ada: Principal) -> None:
    draft = Draft("x", meta={1: "one", "two": 2})
    core.memories.remember(ada, [draft], idempotency_key="k")
    assert core.memories.remember(ada, [draft], idempotency_key="k")[0].replayed


@pytest.mark.parametrize(
    "difference",
    [{"user": "bob"}, {"agent": "coder"}, {"key_id": new_id("key")}],
    ids=["user", "agent", "key"],
)
def test_key_belongs_to_one_principal(core: Core, ada: Principal, difference: dict[str, str]) -> None:
    other = replace(ada, **difference)
    first = core.memories.remember(ada, said("hello"), idempotency_key="k")[0]
    second = core.memories.remember(other, said("something else"), idempotency_key="k")[0]
    assert not second.replayed
    assert first.memory.id != second.memory.id


def test_key_belongs_to_one_route(core: Core, ada: Principal, remember: Remember) -> None:
    one, two = remember(ada, "one"), remember(ada, "two")
    core.memories.remember(ada, said("hello"), idempotency_key="k")
    core.memories.edit(ada, one.id, {"content": "edited"}, idempotency_key="k")
    core.memories.edit(ada, two.id, {"content": "edited too"}, idempotency_key="k")
    core.memories.forget(ada, one.id, idempotency_key="k")
    assert {memory.content for memory in core.memories.list(ada).items} == {"hello", "edited too"}


def test_key_is_forgotten_after_a_day(core: Core, ada: Principal, clock: StepClock) -> None:
    first = core.memories.remember(ada, said("hello"), idempotency_key="k")[0]
    clock.advance(REMEMBERED_FOR - timedelta(seconds=1))
    assert core.memories.remember(ada, said("hello"), idempotency_key="k")[0].replayed
    clock.advance(timedelta(seconds=2))
    late = core.memories.remember(ada, said("goodbye"), idempotency_key="k")[0]
    assert not late.replayed
    assert late.memory.id != first.memory.id
    assert timedelta(hours=24) == REMEMBERED_FOR


def test_failed_request_leaves_its_key_free(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    with pytest.raises(StaleVersion):
        core.memories.edit(ada, memory.id, {"content": "x"}, expected_version="0", idempotency_key="k")
    assert core.memories.edit(ada, memory.id, {"content": "y"}, idempotency_key="k").content == "y"


@pytest.mark.parametrize("key", ["", " ", "two\nlines", "x" * 256, "\x00", "\ud800"])
def test_malformed_key_is_refused(core: Core, ada: Principal, key: str) -> None:
    with pytest.raises(InvalidField, match="Idempotency-Key"):
        core.memories.remember(ada, said("hello"), idempotency_key=key)
    assert count(core, ada) == 0


def test_request_still_being_worked_on_is_not_done_twice(core: Core, ada: Principal) -> None:
    """The second comes while the first is inside its transaction."""
    inside, go_on = threading.Event(), threading.Event()
    idempotency = core.memories._idempotency

    def slow(_) -> str:
        inside.set()
        assert go_on.wait(30)
        return "done"

    def send() -> str:
        return idempotency.write(ada, "route", "k", {}, slow, lambda value: value, lambda value: value)

    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(send)
        assert inside.wait(30)
        with pytest.raises(IdempotencyInFlight):
            send()
        go_on.set()
        assert first.result(30) == "done"
    assert send() == "done"


def test_thousand_concurrent_duplicates_have_one_effect(core: Core, ada: Principal) -> None:
    barrier = threading.Barrier(16)

    def send(_: int) -> list[str]:
        barrier.wait()
        answers = []
        for _ in range(1000 // 16 + 1):
            try:
                answers.append(core.memories.remember(ada, said("hello"), idempotency_key="k")[0].memory.id)
            except IdempotencyInFlight:
                pass
        return answers

    with ThreadPoolExecutor(16) as threads:
        ids = {memory_id for answers in threads.map(send, range(16)) for memory_id in answers}
    assert len(ids) == 1
    assert count(core, ada) == 1
    assert len(core.memories.events(ada, ids.pop())) == 1


def test_two_processes_with_the_same_requests_have_one_effect(core: Core, ada: Principal, database_url: str) -> None:
    keys = [f"k{number}" for number in range(60)]
    one, two = in_processes(2, remember_under_key, database_url, ada.tenant, keys, "ada")
    assert [memory_id for memory_id, _ in one] == [memory_id for memory_id, _ in two]
    for (_, first_replayed), (_, second_replayed) in zip(one, two, strict=True):
        assert first_replayed != second_replayed
    assert count(core, ada) == 60
    for memory_id, _ in one:
        assert [event.event_type for event in core.memories.events(ada, memory_id)] == ["created"]


def test_erased_answers_are_not_replayed(core: Core, ada: Principal, admin: Principal) -> None:
    first = core.memories.remember(ada, said("hello"), idempotency_key="k")[0]
    core.memories.edit(admin, first.memory.id, {"description": "seen by an admin"}, idempotency_key="k")
    core.erasure.reset(ada)
    again = core.memories.remember(ada, said("hello"), idempotency_key="k")[0]
    assert not again.replayed
    with pytest.raises(NotFound):
        core.memories.edit(admin, first.memory.id, {"description": "seen by an admin"}, idempotency_key="k")


def test_role_of_the_key_does_not_matter_to_the_replay(core: Core, ada: Principal) -> None:
    core.memories.remember(ada, said("hello"), idempotency_key="k")
    service = replace(ada, role=Role.SERVICE)
    assert core.memories.remember(service, said("hello"), idempotency_key="k")[0].replayed


def test_who_only_reads_is_given_no_answer_of_a_write(core: Core, ada: Principal, remember: Remember) -> None:
    one, ada = remember(ada), replace(ada, agent="coder")
    reader = replace(ada, role=Role.READER)
    asked: list[Callable[[Principal], Any]] = [
        lambda who: core.memories.remember(who, said("hello"), idempotency_key="k"),
        lambda who: core.memories.edit(who, one.id, {"content": "new"}, idempotency_key="k"),
        lambda who: core.memories.put(who, Owner("ada", "coder"), "day", {"content": "Friday"}, idempotency_key="k"),
        lambda who: core.memories.forget_named(who, "day", idempotency_key="k"),
        lambda who: core.memories.forget(who, one.id, idempotency_key="k"),
    ]
    for ask in asked:
        ask(ada)
        with pytest.raises(Forbidden):
            ask(reader)
        ask(ada)


@pytest.mark.parametrize("operation", ["named", "edit", "forget"])
def test_of_two_processes_the_later_gives_the_answer_of_the_first(own_postgres_url: str, operation: str) -> None:
    """Two cores stand for two processes: they share the database and nothing else."""
    cores = [open_core(bare(own_postgres_url)) for _ in range(2)]
    ada = Principal("acme", Role.USER, "ada")
    for number in range(10):
        memory = cores[0].memories.remember(ada, [Draft(f"text {number}", name=f"old-{number}")])[0].memory
        together = threading.Barrier(2)

        def ask(core: Core, number: int = number, memory: Memory = memory, together: Any = together) -> str:
            together.wait(30)
            if operation == "named":
                draft = Draft("new", name=f"new-{number}")
                return core.memories.remember(ada, [draft], idempotency_key="k" + str(number))[0].memory.id
            if operation == "edit":
                changed = core.memories.edit(
                    ada, memory.id, {"content": "x"}, expected_version=memory.version, idempotency_key="k"
                )
                return changed.version
            return core.memories.forget(ada, memory.id, idempotency_key="k").version

        with ThreadPoolExecutor(2) as threads:
            answers = list(threads.map(ask, cores))
        assert answers[0] == answers[1]
    for core in cores:
        core.close()
