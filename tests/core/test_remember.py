"""Remembering: what is stored, what is the same memory, and what is refused."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memorist.core import Core
from memorist.errors import Forbidden, InvalidField, InvalidId, NameTaken, NotFound
from memorist.ids import new_id, to_uuid
from memorist.memories import writing
from memorist.memories.values import Draft, Kind, Memory, Retention, Status, Trust
from memorist.platform import validation
from memorist.platform.values import Owner, Principal, Role
from memorist.testing import StepClock
from memorist.testing.conformance.memories import TEXTS

Remember = Callable[..., Memory]


def test_remembered_memory_comes_back_verbatim(core: Core, ada: Principal) -> None:
    draft = Draft(
        content="  Deploys happen on Fridays only.\n",
        kind=Kind.FACT,
        category="project",
        name="deploy_day",
        description="when we deploy",
        excerpt="Fridays",
        importance=5,
        confidence=0.5,
        relevance=1,
        meta={"a": [1, None, {"b": "ü"}]},
        source_ref="turn_1",
        trust=Trust.AGENT,
        project="github.com/acme/shop",
        session="s1",
        retention=Retention.POLICY,
        event_time=datetime(2025, 5, 6, 7, 8, 9, 10, tzinfo=timezone(timedelta(hours=2))),
    )
    (result,) = core.memories.remember(ada, [draft])
    assert (result.was_new, result.replayed) == (True, False)
    memory = core.memories.get(ada, result.memory.id)
    assert replace(memory, access_count=0, last_accessed_at=None) == result.memory
    for field in ("content", "kind", "category", "name", "description", "excerpt", "importance", "confidence"):
        assert getattr(memory, field) == getattr(draft, field), field
    for field in ("relevance", "meta", "source_ref", "trust", "project", "session", "retention", "event_time"):
        assert getattr(memory, field) == getattr(draft, field), field
    assert memory.owner == Owner("ada", "default")
    assert memory.tenant == ada.tenant
    assert memory.status is Status.ACTIVE
    assert memory.created_at == memory.updated_at
    assert memory.valid_from == memory.event_time
    assert memory.event_time.tzinfo is UTC


def test_memory_is_found_by_every_form_of_its_id(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    for form in (memory.id, memory.id.removeprefix("mem_"), memory.id.lower(), str(to_uuid(memory.id))):
        assert core.memories.get(ada, form).id == memory.id


@pytest.mark.parametrize("bad", ["", "mem_", "mem_1", "x" * 26, "not an id", "key_01J9Z3K4M5N6P7Q8R9S0T1V2W3", "\x00"])
def test_malformed_id_is_refused(core: Core, ada: Principal, bad: str) -> None:
    for call in (core.memories.get, core.memories.forget, core.memories.events):
        with pytest.raises(InvalidId):
            call(ada, bad)
    with pytest.raises(InvalidId):
        core.memories.edit(ada, bad, {})


def test_unknown_memory_is_not_found(core: Core, ada: Principal) -> None:
    memory_id = new_id("mem")
    for call in (core.memories.get, core.memories.forget, core.memories.events):
        with pytest.raises(NotFound, match=memory_id):
            call(ada, memory_id)
    with pytest.raises(NotFound, match=memory_id):
        core.memories.edit(ada, memory_id, {"content": "x"})


def test_remembering_writes_a_created_event(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(replace(ada, source="mcp"))
    (event,) = core.memories.events(ada, memory.id)
    assert (event.memory_id, event.event_type, event.source, event.actor) == (memory.id, "created", "mcp", "ada")


# The same memory


def test_equal_fact_is_not_written_twice(core: Core, ada: Principal) -> None:
    first, second = (core.memories.remember(ada, [Draft("the same")])[0] for _ in range(2))
    assert (first.was_new, second.was_new) == (True, False)
    assert second.memory.id == first.memory.id
    assert [event.event_type for event in core.memories.events(ada, first.memory.id)] == ["created", "deduplicated"]
    assert len(core.memories.list(ada).items) == 1


def test_equal_facts_in_one_batch_are_one(core: Core, ada: Principal) -> None:
    results = core.memories.remember(ada, [Draft("the same"), Draft("another"), Draft("the same")])
    assert [result.was_new for result in results] == [True, True, False]
    assert results[0].memory.id == results[2].memory.id


@pytest.mark.parametrize(
    "difference",
    [
        {"content": "The same"},
        {"content": "the same "},
        {"category": "goal"},
        {"project": "shop"},
        {"session": "s1"},
        {"owner": Owner("ada", "coder")},
    ],
    ids=lambda difference: next(iter(difference)) + repr(next(iter(difference.values()))),
)
def test_fact_that_differs_in_what_it_is_about_is_another(
    core: Core, ada: Principal, remember: Remember, difference: dict[str, Any]
) -> None:
    first = remember(ada, "the same")
    second = core.memories.remember(ada, [Draft(**({"content": "the same"} | difference))])[0]
    assert second.was_new
    assert second.memory.id != first.id
    assert core.memories.remember(ada, [Draft(**({"content": "the same"} | difference))])[0].was_new is False


@pytest.mark.parametrize("sameness", [{"description": "x"}, {"importance": 9}, {"meta": {}}, {"trust": Trust.TOOL}])
def test_fact_that_differs_only_around_the_text_is_the_same(
    core: Core, ada: Principal, remember: Remember, sameness: dict[str, Any]
) -> None:
    first = remember(ada, "the same")
    assert core.memories.remember(ada, [Draft("the same", **sameness)])[0].memory.id == first.id


def test_session_of_the_caller_is_part_of_what_a_fact_is_about(ada: Principal, remember: Remember) -> None:
    ids = {remember(replace(ada, session=session), "the same").id for session in (None, "s1", "s2", "s1")}
    assert len(ids) == 3


def test_equal_facts_of_two_users_are_two(ada: Principal, bob: Principal, remember: Remember) -> None:
    assert remember(ada, "the same").id != remember(bob, "the same").id


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.FACT])
def test_what_is_said_twice_is_stored_twice(core: Core, ada: Principal, kind: Kind) -> None:
    results = core.memories.remember(ada, [Draft("yes", kind=kind), Draft("yes", kind=kind)])
    assert [result.was_new for result in results] == [True, True]


def test_forgotten_fact_can_be_remembered_anew(core: Core, ada: Principal, remember: Remember) -> None:
    first = remember(ada, "the same")
    core.memories.forget(ada, first.id)
    result = core.memories.remember(ada, [Draft("the same")])[0]
    assert result.was_new
    assert result.memory.id != first.id


def test_concurrent_equal_facts_give_one_row(core: Core, ada: Principal) -> None:
    barrier = threading.Barrier(16)

    def write(_: int) -> Any:
        barrier.wait()
        return core.memories.remember(ada, [Draft("the same"), Draft("also the same")])

    with ThreadPoolExecutor(16) as threads:
        results = [result for pair in threads.map(write, range(16)) for result in pair]
    assert sum(result.was_new for result in results) == 2
    assert len({result.memory.id for result in results}) == 2
    assert len(core.memories.list(ada).items) == 2


def test_concurrent_batches_in_opposite_order_all_succeed(core: Core, ada: Principal) -> None:
    texts = [f"fact {number}" for number in range(10)]

    def write(number: int) -> Any:
        ordered = texts if number % 2 else texts[::-1]
        return core.memories.remember(ada, [Draft(text) for text in ordered])

    with ThreadPoolExecutor(8) as threads:
        results = [result for batch in threads.map(write, range(24)) for result in batch]
    assert sum(result.was_new for result in results) == 10


def expire(core: Core, memory: Memory, at: datetime) -> None:
    """Give a stored memory an expiry of its own."""
    changed = replace(memory, expires_at=at)
    assert core.store.write(memory.tenant, lambda tx: writing.replace(tx, changed, memory.updated_at))


@pytest.mark.parametrize("fields", [{}, {"name": "deploy"}], ids=["text", "name"])
def test_expired_memory_makes_way_for_an_equal_one(
    core: Core, ada: Principal, clock: StepClock, remember: Remember, fields: dict[str, Any]
) -> None:
    old = remember(ada, "the same", **fields)
    expire(core, old, clock.now())
    result = core.memories.remember(ada, [Draft("the same", **fields)])[0]
    assert result.was_new
    assert result.memory.id != old.id
    assert [event.event_type for event in core.memories.events(ada, old.id)] == ["created", "expired"]
    assert [memory.id for memory in core.memories.list(ada).items] == [result.memory.id]


def test_memory_not_yet_expired_is_still_the_same(
    core: Core, ada: Principal, clock: StepClock, remember: Remember
) -> None:
    old = remember(ada, "the same")
    expire(core, old, clock.now() + timedelta(hours=1))
    assert core.memories.remember(ada, [Draft("the same")])[0].memory.id == old.id


@pytest.mark.parametrize("status", [Status.ACTIVE, Status.ARCHIVED])
def test_expired_memory_is_gone_to_the_microsecond(
    core: Core, ada: Principal, clock: StepClock, remember: Remember, status: Status
) -> None:
    memory = remember(ada, "short-lived")
    until = clock.now() + timedelta(hours=1)
    changed = replace(memory, expires_at=until, status=status)
    assert core.store.write(ada.tenant, lambda tx: writing.replace(tx, changed, memory.updated_at))
    assert core.memories.get(ada, memory.id).content == "short-lived"
    clock.advance(until - clock.now())
    with pytest.raises(NotFound):
        core.memories.get(ada, memory.id)
    with pytest.raises(NotFound):
        core.memories.edit(ada, memory.id, {"content": "longer"})
    with pytest.raises(NotFound):
        core.memories.forget(ada, memory.id)
    assert core.memories.list(ada, status=status).items == ()


# Names


def test_name_is_taken_once_an_owner(core: Core, ada: Principal, bob: Principal, remember: Remember) -> None:
    first = remember(ada, "one", name="deploy")
    with pytest.raises(NameTaken):
        core.memories.remember(ada, [Draft("two", name="deploy")])
    with pytest.raises(NameTaken):
        core.memories.remember(ada, [Draft("one", name="deploy")])
    assert remember(bob, "one", name="deploy").id != first.id
    assert remember(replace(ada, agent="coder"), "one", name="deploy").id != first.id
    assert core.memories.get(ada, first.id).content == "one"


def test_name_is_free_again_after_forgetting(core: Core, ada: Principal, remember: Remember) -> None:
    first = remember(ada, "one", name="deploy")
    core.memories.forget(ada, first.id)
    assert remember(ada, "two", name="deploy").id != first.id


def test_equal_texts_with_names_are_two_memories(ada: Principal, remember: Remember) -> None:
    ids = {remember(ada, "the same", name=name).id for name in (None, "one", "two")}
    assert len(ids) == 3


def test_taken_name_in_a_batch_stores_nothing_of_it(core: Core, ada: Principal, remember: Remember) -> None:
    remember(ada, "one", name="deploy")
    with pytest.raises(NameTaken):
        core.memories.remember(ada, [Draft("first of the batch"), Draft("two", name="deploy")])
    assert [memory.content for memory in core.memories.list(ada).items] == ["one"]


def test_concurrent_equal_names_give_one_row(core: Core, ada: Principal) -> None:
    def write(number: int) -> bool:
        try:
            return core.memories.remember(ada, [Draft(f"text {number}", name="deploy")])[0].was_new
        except NameTaken:
            return False

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(write, range(24))) == 1


# Batches


def test_empty_batch_is_fine_and_does_nothing(core: Core, ada: Principal) -> None:
    assert core.memories.remember(ada, []) == []
    assert core.memories.remember(ada, [], idempotency_key="k") == []
    assert core.memories.list(ada).items == ()


def test_largest_batch_is_taken_and_one_more_is_not(core: Core, ada: Principal) -> None:
    drafts = [Draft(f"fact {number}") for number in range(validation.MAX_BATCH + 1)]
    with pytest.raises(InvalidField, match="At most 1000"):
        core.memories.remember(ada, drafts)
    assert core.memories.list(ada).items == ()
    results = core.memories.remember(ada, drafts[:-1])
    assert sum(result.was_new for result in results) == validation.MAX_BATCH


def test_one_bad_draft_in_a_batch_stores_nothing(core: Core, ada: Principal) -> None:
    with pytest.raises(InvalidField):
        core.memories.remember(ada, [Draft("good"), Draft("")])
    assert core.memories.list(ada).items == ()


# What may be stored


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_hostile_text_is_stored_verbatim(core: Core, ada: Principal, remember: Remember, text: str) -> None:
    memory = remember(ada, text, excerpt=text, meta={"text": text})
    assert core.memories.get(ada, memory.id).content == text
    assert core.memories.get(ada, memory.id).meta == {"text": text}
    assert core.memories.remember(ada, [Draft(text)])[0].was_new is False
    assert core.memories.edit(ada, memory.id, {"content": text + "!"}).content == text + "!"


HOSTILE_AT_THE_LIMIT = {
    "emoji": "🧠" * 100_000,
    "distinct words of four-byte letters": "".join(f"{chr(0x20000 + n % 40_000)} " for n in range(50_000)),
    "hyphenated": "".join(f"{chr(0x20000 + n)}-" for n in range(50_000)),
    "one word": "a" * 100_000,
    "addresses": "".join(f"http://{n}.example/{n}?q={n} " for n in range(3_000)),
    "paths": "".join(f"/{n}/{n}/" for n in range(10_000))[:100_000],
}


@pytest.mark.parametrize("text", HOSTILE_AT_THE_LIMIT.values(), ids=HOSTILE_AT_THE_LIMIT)
def test_longest_text_of_any_kind_is_stored_on_every_database(
    core: Core, ada: Principal, remember: Remember, text: str
) -> None:
    memory = remember(ada, text, excerpt=text[::-1])
    assert core.memories.get(ada, memory.id).content == text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", ""),
        ("content", " \t\n\u2003"),
        ("content", "a\x00b"),
        ("content", "a\ud800b"),
        ("content", "\udc00\ud800"),
        ("content", "x" * 1_000_001),
        ("content", None),
        ("content", b"bytes"),
        ("excerpt", "a\x00b"),
        ("excerpt", "x" * 1_000_001),
        ("description", "two\nlines"),
        ("description", "two\u2028lines"),
        ("description", "x" * 501),
        ("description", "\x00"),
        ("category", ""),
        ("category", "Capital"),
        ("category", "with space"),
        ("category", "x" * 129),
        ("category", "trailing_"),
        ("name", ""),
        ("name", "a\n"),
        ("name", "a__b"),
        ("name", "x" * 129),
        ("project", ""),
        ("project", "two\nlines"),
        ("project", "x" * 501),
        ("session", ""),
        ("session", "with space"),
        ("session", "x" * 129),
        ("session", "\ud800"),
        ("source_ref", "\n"),
        ("importance", 2**31 - 1),
        ("importance", -(2**31)),
        ("importance", 1.5),
        ("importance", True),
        ("importance", "1"),
        ("confidence", -0.01),
        ("confidence", 1.01),
        ("confidence", float("nan")),
        ("confidence", float("inf")),
        ("relevance", "0.5"),
        ("relevance", 2),
        ("meta", []),
        ("meta", {"nan": float("nan")}),
        ("meta", {"object": object()}),
        ("meta", {"nul": "\x00"}),
        ("meta", {"\x00": 1}),
        ("meta", {"surrogate": "\ud800"}),
        ("meta", {"big": "x" * 64_000}),
        ("event_time", "yesterday"),
        ("event_time", datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))),
        ("event_time", datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))),
        ("kind", "rumour"),
        ("kind", None),
        ("trust", "nobody"),
        ("retention", "forever"),
        ("owner", Owner("", None)),
        ("owner", Owner("a b")),
        ("owner", Owner("a\x00b")),
        ("owner", Owner("ada", "x" * 129)),
    ],
)
def test_value_that_cannot_be_stored_is_refused(core: Core, ada: Principal, field: str, value: Any) -> None:
    with pytest.raises(InvalidField):
        core.memories.remember(ada, [Draft(**({"content": "a text"} | {field: value}))])
    assert core.memories.list(ada).items == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", "x" * 100_000),
        ("content", "x"),
        ("excerpt", ""),
        ("description", ""),
        ("description", "x" * 500),
        ("category", "x" * 128),
        ("category", "a_b-c9"),
        ("name", "x" * 128),
        ("project", "x" * 500),
        ("project", "a project with spaces"),
        ("session", "🧠" * 128),
        ("importance", 2**31 - 2),
        ("importance", -(2**31) + 1),
        ("confidence", 0),
        ("confidence", 1),
        ("meta", {}),
        ("meta", {"big": "x" * 63_000}),
        ("event_time", datetime(1, 1, 1, tzinfo=UTC)),
        ("event_time", datetime.max.replace(tzinfo=UTC)),
        ("owner", Owner("ada", "🧠" * 128)),
    ],
)
def test_value_at_its_limit_is_stored(core: Core, ada: Principal, field: str, value: Any) -> None:
    result = core.memories.remember(ada, [Draft(**({"content": "a text"} | {field: value}))])[0]
    assert getattr(core.memories.get(ada, result.memory.id), field) == value


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"in": value}
    return value


def test_meta_is_nested_only_so_deep(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada, meta=nested(32))
    assert core.memories.get(ada, memory.id).meta == nested(32)
    for depth in (33, 500, 100_000):
        with pytest.raises(InvalidField):
            remember(ada, meta=nested(depth))


def test_meta_that_holds_itself_is_refused(ada: Principal, remember: Remember) -> None:
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    with pytest.raises(InvalidField):
        remember(ada, meta=cycle)


@pytest.mark.parametrize(
    "caller",
    [
        {"user": ""},
        {"user": "a b"},
        {"user": "a\x00b"},
        {"user": "\ud800"},
        {"user": "x" * 129},
        {"agent": ""},
        {"agent": "\n"},
        {"session": "a b"},
        {"session": "\x00"},
    ],
    ids=repr,
)
def test_caller_whose_name_cannot_be_stored_writes_nothing(core: Core, ada: Principal, caller: dict[str, str]) -> None:
    with pytest.raises(InvalidField):
        core.memories.remember(replace(ada, **caller), [Draft("a text")])
    assert core.memories.list(replace(ada, role=Role.ADMIN, user=None)).items == ()


def test_longest_names_of_all_fit_every_index(core: Core, tenant: str, rng: random.Random) -> None:
    letters = [chr(rng.randrange(0x10000, 0x110000)) for _ in range(300)]  # Nothing that would compress.
    caller = Principal(tenant, Role.USER, "".join(letters[:128]), "".join(letters[128:256]), key_id="key_" + "X" * 26)
    draft = Draft("a text", name="x" * 128, category="project", session="".join(letters[100:228]))
    first = core.memories.remember(caller, [draft], idempotency_key="".join(letters[:255]))[0]
    again = core.memories.remember(caller, [draft], idempotency_key="".join(letters[:255]))[0]
    assert again.replayed
    assert again.memory == first.memory


# Who may write


def test_reader_writes_nothing(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    reader = replace(ada, role=Role.READER)
    assert core.memories.get(reader, memory.id).id == memory.id
    for call in (
        lambda: remember(reader),
        lambda: core.memories.edit(reader, memory.id, {"content": "x"}),
        lambda: core.memories.forget(reader, memory.id),
        lambda: core.erasure.reset(reader),
        lambda: list(core.transfer.import_(reader, [])),
    ):
        with pytest.raises(Forbidden):
            call()
    assert core.memories.get(ada, memory.id).content == "a text"


def test_only_an_admin_writes_what_everybody_shares(
    core: Core, ada: Principal, admin: Principal, remember: Remember
) -> None:
    with pytest.raises(Forbidden, match="Only an admin"):
        remember(ada, owner=Owner())
    shared = remember(admin, "shared")
    assert shared.owner == Owner()
    assert core.memories.get(ada, shared.id).content == "shared"
    with pytest.raises(Forbidden):
        core.memories.edit(ada, shared.id, {"content": "mine"})
    with pytest.raises(Forbidden):
        core.memories.forget(ada, shared.id)


def test_nobody_writes_for_another_user(core: Core, ada: Principal, bob: Principal, remember: Remember) -> None:
    with pytest.raises(Forbidden):
        remember(ada, owner=Owner("bob"))
    memory = remember(bob)
    for call in (
        lambda: core.memories.get(ada, memory.id),
        lambda: core.memories.edit(ada, memory.id, {"content": "mine"}),
        lambda: core.memories.forget(ada, memory.id),
        lambda: core.memories.events(ada, memory.id),
    ):
        with pytest.raises(NotFound):
            call()


def test_service_that_acts_for_nobody_writes_nothing(tenant: str, remember: Remember) -> None:
    with pytest.raises(Forbidden, match="acts for nobody"):
        remember(Principal(tenant, Role.SERVICE))


def test_name_is_read_first_where_the_caller_would_write(core: Core, ada: Principal) -> None:
    admin = replace(ada, role=Role.ADMIN)
    core.memories.remember(admin, [Draft("for all profiles", name="style")])
    assert core.memories.get_named(ada, "style").content == "for all profiles"
    core.memories.remember(ada, [Draft("my own", name="style")])
    assert core.memories.get_named(ada, "style").content == "my own"
    assert core.memories.get_named(admin, "style").content == "for all profiles"
