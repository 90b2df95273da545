"""Changing and forgetting: who wins, what is recorded, and what stays possible."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memorist.core import Core
from memorist.errors import DuplicateContent, InvalidField, NameTaken, NotFound, StaleVersion
from memorist.memories import writing
from memorist.memories.values import Draft, Memory, Status
from memorist.platform.values import Principal
from memorist.testing import StepClock

Remember = Callable[..., Memory]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", "new"),
        ("category", "goal"),
        ("category", None),
        ("name", "renamed"),
        ("description", "described"),
        ("excerpt", "short"),
        ("importance", 7),
        ("confidence", 0.5),
        ("relevance", 0.25),
        ("meta", {"a": 1}),
        ("meta", None),
        ("project", "shop"),
    ],
)
def test_edited_field_changes_and_the_rest_stays(
    core: Core, ada: Principal, remember: Remember, field: str, value: Any
) -> None:
    # With a name, what is of no profile would be shared.
    ada = replace(ada, agent="coder")
    before = remember(ada, category="project", meta={"old": True})
    after = core.memories.edit(ada, before.id, {field: value})
    assert getattr(after, field) == value
    assert core.store.read(ada.tenant, lambda tx: tx.memories.get(before.id)) == after
    derived = {"updated_at": before.updated_at, "content_hash": before.content_hash, "dedup_key": before.dedup_key}
    assert replace(after, **{field: getattr(before, field)}, **derived) == before
    assert after.updated_at > before.updated_at
    assert after.version != before.version
    created, updated = core.memories.events(ada, before.id)
    assert (created.event_type, updated.event_type) == ("created", "updated")
    assert updated.payload == {"before": {field: getattr(before, field)}}


def test_edit_that_changes_nothing_writes_nothing(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada, "text")
    for changes in ({}, {"content": "text"}, {"content": "text", "importance": 0}):
        assert core.memories.edit(ada, memory.id, changes) == memory
    assert len(core.memories.events(ada, memory.id)) == 1


@pytest.mark.parametrize("field", ["id", "tenant", "owner", "status", "kind", "created_at", "session", "nonsense", ""])
def test_other_fields_cannot_be_changed(core: Core, ada: Principal, remember: Remember, field: str) -> None:
    with pytest.raises(InvalidField, match="cannot be changed") as caught:
        core.memories.edit(ada, remember(ada).id, {field: "x"})
    assert caught.value.field == field


@pytest.mark.parametrize(
    "changes",
    [
        {"content": ""},
        {"content": None},
        {"content": "\x00"},
        {"content": "x" * 1_000_001},
        {"name": "Not A Slug"},
        {"importance": None},
        {"importance": 2**31},
        {"meta": "text"},
        {"meta": {1: "a", "b": float("nan")}},
        {"confidence": 2},
    ],
    ids=lambda changes: repr(changes)[:30],
)
@pytest.mark.parametrize("key", [None, "k"])
def test_bad_change_is_refused_and_nothing_changes(
    core: Core, ada: Principal, remember: Remember, changes: dict[str, Any], key: str | None
) -> None:
    memory = remember(ada)
    with pytest.raises(InvalidField):
        core.memories.edit(ada, memory.id, changes, idempotency_key=key)
    assert core.store.read(ada.tenant, lambda tx: tx.memories.get(memory.id)) == memory


def test_named_memory_keeps_a_name(core: Core, ada: Principal, remember: Remember) -> None:
    with pytest.raises(InvalidField, match="keeps a name"):
        core.memories.edit(ada, remember(ada, name="deploy").id, {"name": None})


def test_edit_to_a_taken_name_or_text_is_refused(core: Core, ada: Principal, remember: Remember) -> None:
    ada = replace(ada, agent="coder")
    remember(ada, "one", name="deploy")
    remember(ada, "the same")
    memory = remember(ada, "other")
    with pytest.raises(NameTaken):
        core.memories.edit(ada, memory.id, {"name": "deploy"})
    with pytest.raises(DuplicateContent):
        core.memories.edit(ada, memory.id, {"content": "the same"})
    assert core.memories.get(ada, memory.id).content == "other"


def test_edit_may_take_the_name_or_text_of_an_expired_memory(
    core: Core, ada: Principal, clock: StepClock, remember: Remember
) -> None:
    ada = replace(ada, agent="coder")
    named, plain = remember(ada, "one", name="deploy"), remember(ada, "the same")
    for memory in (named, plain):
        expired = replace(memory, expires_at=clock.now())
        core.store.write(ada.tenant, lambda tx, e=expired, m=memory: writing.replace(tx, e, m.updated_at))
    first, second = remember(ada, "first"), remember(ada, "second")
    assert core.memories.edit(ada, first.id, {"name": "deploy"}).name == "deploy"
    assert core.memories.edit(ada, second.id, {"content": "the same"}).content == "the same"


def test_edited_text_is_what_equal_facts_are_compared_with(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada, "old")
    core.memories.edit(ada, memory.id, {"content": "new"})
    assert remember(ada, "new").id == memory.id
    assert remember(ada, "old").id != memory.id


# Versions


def test_change_of_the_expected_version_applies(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    edited = core.memories.edit(ada, memory.id, {"content": "new"}, expected_version=memory.version)
    assert core.memories.forget(ada, memory.id, expected_version=edited.version).status is Status.SOFT_DELETED


@pytest.mark.parametrize("version", ["stale", "", "0", "nonsense"])
def test_change_of_another_version_is_stale(core: Core, ada: Principal, remember: Remember, version: str) -> None:
    memory = remember(ada)
    edited = core.memories.edit(ada, memory.id, {"content": "new"})
    version = memory.version if version == "stale" else version
    with pytest.raises(StaleVersion):
        core.memories.edit(ada, memory.id, {"content": "newer"}, expected_version=version)
    with pytest.raises(StaleVersion):
        core.memories.forget(ada, memory.id, expected_version=version)
    assert core.memories.get(ada, memory.id).content == edited.content == "new"


def test_reading_does_not_change_the_version(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    core.memories.get(ada, memory.id)
    core.accesses.flush()
    assert core.memories.get(ada, memory.id).version == memory.version


def test_version_moves_on_even_when_the_clock_does_not(
    core: Core, ada: Principal, clock: StepClock, remember: Remember
) -> None:
    memory = remember(ada)
    clock.advance(timedelta(days=-1))
    versions = {memory.version}
    for number in range(5):
        versions.add(core.memories.edit(ada, memory.id, {"importance": number + 1}).version)
    assert len(versions) == 6


def test_one_of_many_changes_of_a_version_wins(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)

    def change(number: int) -> bool:
        try:
            core.memories.edit(ada, memory.id, {"importance": number}, expected_version=memory.version)
        except StaleVersion:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(change, range(1, 25))) == 1
    assert len(core.memories.events(ada, memory.id)) == 2


def test_concurrent_changes_of_different_fields_are_all_kept(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    changes = [{"importance": 3}, {"description": "d"}, {"excerpt": "e"}, {"project": "p"}]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda change: core.memories.edit(ada, memory.id, change), changes))
    after = core.memories.get(ada, memory.id)
    assert (after.importance, after.description, after.excerpt, after.project) == (3, "d", "e", "p")
    assert len(core.memories.events(ada, memory.id)) == 5


# Forgetting


def test_forgotten_memory_is_gone_at_once(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    gone = core.memories.forget(ada, memory.id)
    assert gone.status is Status.SOFT_DELETED
    assert gone.hard_delete_at - gone.deleted_at == timedelta(days=7)
    assert core.memories.list(ada).items == ()
    for call in (
        lambda: core.memories.get(ada, memory.id),
        lambda: core.memories.forget(ada, memory.id),
        lambda: core.memories.edit(ada, memory.id, {"content": "back"}),
    ):
        with pytest.raises(NotFound):
            call()


def test_forgotten_memory_keeps_its_text_and_trail_for_recovery(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada, "text")
    core.memories.forget(ada, memory.id)
    assert [event.event_type for event in core.memories.events(ada, memory.id)] == ["created", "deleted"]
    (kept,) = core.memories.list(ada, status=Status.SOFT_DELETED).items
    assert (kept.id, kept.content) == (memory.id, "text")


def test_memory_is_forgotten_once_by_many(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)

    def forget(_: int) -> bool:
        try:
            core.memories.forget(ada, memory.id)
        except NotFound:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(forget, range(16))) == 1
    assert len(core.memories.events(ada, memory.id)) == 2


def test_archived_memory_can_still_be_read(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    archived = replace(memory, status=Status.ARCHIVED)
    core.store.write(ada.tenant, lambda tx: writing.replace(tx, archived, memory.updated_at))
    assert core.memories.get(ada, memory.id).status is Status.ARCHIVED
    assert core.memories.list(ada).items == ()
    assert core.memories.remember(ada, [Draft(memory.content)])[0].was_new
