"""The library: handles for users, and the same calls to be awaited."""

import asyncio
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import memorist
from memorist import AsyncMemorist, Draft, Kind, Memorist, Role
from memorist.errors import (
    Forbidden,
    Invalid,
    InvalidCursor,
    InvalidField,
    InvalidSetting,
    MemoristError,
    NotFound,
    Unauthenticated,
)
from memorist.memories.values import Order, Status, Trust
from memorist.platform.values import Owner
from memorist.surfaces.library import AsyncHandle, Handle
from memorist.testing import new_tenant


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def opened(database_url: str):
    with Memorist.open(database_url) as m:
        yield m


def public_methods(kind: type) -> set[str]:
    return {name for name in dir(kind) if callable(getattr(kind, name)) and not name.startswith("_")}


def test_everything_public_can_be_imported() -> None:
    assert memorist.__all__ == sorted(memorist.__all__)
    for name in set(memorist.__all__) - {"__version__"}:
        assert getattr(memorist, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = memorist.nonsense


def test_importing_the_package_loads_no_database_library() -> None:
    code = "import sys, memorist; print(sorted({'apsw', 'psycopg', 'fastapi', 'asyncio'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_memory_can_be_remembered_read_changed_and_forgotten(opened: Memorist) -> None:
    me = opened.user("ada", agent="coder", session="s1", tenant=new_tenant())
    result = me.remember(
        "Deploys happen on Fridays only.",
        kind=Kind.FACT,
        category="project",
        name="deploy_day",
        description="when we deploy",
        excerpt="Fridays",
        importance=3,
        confidence=0.5,
        relevance=0.25,
        meta={"a": 1},
        source_ref="turn_1",
        trust=Trust.AGENT,
        project="shop",
        idempotency_key="k",
    )
    memory = result.memory
    assert (memory.owner, memory.session) == (Owner("ada", "coder"), "s1")
    assert (memory.importance, memory.confidence, memory.relevance) == (3, 0.5, 0.25)
    assert (memory.description, memory.excerpt, memory.source_ref) == ("when we deploy", "Fridays", "turn_1")
    assert (memory.trust, memory.project, memory.meta, memory.name) == (Trust.AGENT, "shop", {"a": 1}, "deploy_day")
    assert me.get(memory.id).content == memory.content
    assert [found.id for found in me.list(named=True, order=Order.IMPORTANCE).items] == [memory.id]
    assert "deploy_day (project): when we deploy" in me.section().text
    edited = me.edit(memory.id, {"content": "Never on Fridays."}, expected_version=memory.version)
    assert me.forget(memory.id, expected_version=edited.version).status is Status.SOFT_DELETED
    assert [event.event_type for event in me.events(memory.id)] == ["created", "updated", "deleted"]
    with pytest.raises(NotFound):
        me.get(memory.id)


def test_batch_export_import_and_reset(opened: Memorist) -> None:
    me = opened.user("ada", tenant=new_tenant())
    assert [result.was_new for result in me.remember_all([Draft("one"), Draft("two")])] == [True, True]
    lines = list(me.export())
    assert me.reset() == 2
    assert me.list().items == ()
    assert me.import_(lines).imported == 2
    assert len(me.list().items) == 2


def test_users_are_apart_and_admins_see_all(opened: Memorist) -> None:
    tenant = new_tenant()
    ada, bob, admin = opened.user("ada", tenant=tenant), opened.user("bob", tenant=tenant), opened.admin(tenant=tenant)
    memory = ada.remember("mine").memory
    shared = admin.remember("ours").memory
    with pytest.raises(NotFound):
        bob.get(memory.id)
    with pytest.raises(Forbidden):
        bob.forget(shared.id)
    assert bob.get(shared.id).content == "ours"
    assert admin.get(memory.id).content == "mine"
    assert opened.admin(user="ada", tenant=tenant).remember("for ada").memory.owner == Owner("ada")


def test_handle_of_a_key_acts_as_its_holder(opened: Memorist) -> None:
    admin = opened.admin(tenant=new_tenant())
    _, secret = opened._core.identity.create_key(admin.principal, Role.USER, user="ada")
    assert opened.with_key(secret).remember("by key").memory.owner == Owner("ada")
    with pytest.raises(Unauthenticated):
        opened.with_key("mst_live_nonsense")


@pytest.mark.parametrize(
    "who", [{"user": ""}, {"user": "a b"}, {"user": "\x00"}, {"user": "a", "agent": ""}, {"user": "a", "session": " "}]
)
def test_user_with_a_bad_name_is_refused(opened: Memorist, who: dict[str, str]) -> None:
    with pytest.raises(InvalidField):
        opened.user(**who)


def test_admin_for_a_user_with_a_bad_name_is_refused(opened: Memorist) -> None:
    with pytest.raises(InvalidField):
        opened.admin(user="a b")


# Opening


@pytest.mark.parametrize("ending", ["memories", "memories.db", "memories.sqlite", "memories.sqlite3"])
def test_folder_or_file_is_opened_and_found_again(tmp_path: Path, ending: str) -> None:
    path = tmp_path / ending
    for location in (path, str(path)):
        with Memorist.open(location) as m:
            m.user("ada").remember("the same")
            assert len(m.user("ada").list().items) == 1
    assert path.is_dir() == (ending == "memories")


def test_without_a_place_the_settings_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_DATA", str(tmp_path / "elsewhere"))
    Memorist.open().close()
    assert (tmp_path / "elsewhere" / "memorist.db").is_file()


def test_place_wins_over_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_DATABASE", str(tmp_path / "not-this.db"))
    Memorist.open(tmp_path / "here").close()
    assert (tmp_path / "here" / "memorist.db").is_file()
    assert not (tmp_path / "not-this.db").exists()


@pytest.mark.parametrize("location", ["", "a\x00b"])
def test_no_place_is_refused(location: str) -> None:
    with pytest.raises(InvalidSetting):
        Memorist.open(location)


def test_unknown_kind_of_database_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="must be a postgresql:// URL"):
        Memorist.open("mysql://localhost/memorist")


# To be awaited

STREAMS = {"export", "changes", "turn", "turn_events", "iterate", "iterate_documents"}


def test_async_handle_has_every_method() -> None:
    assert public_methods(AsyncHandle) - {"principal"} == public_methods(Handle)
    assert public_methods(AsyncMemorist) | {"open"} == public_methods(Memorist) | {"open"}


def test_async_methods_say_what_the_others_say() -> None:
    for name in public_methods(Handle) - STREAMS:
        awaited, plain = getattr(AsyncHandle, name), getattr(Handle, name)
        assert inspect.iscoroutinefunction(awaited)
        assert (awaited.__name__, awaited.__doc__) == (name, plain.__doc__)


def test_async_facade_does_what_the_library_does(database_url: str) -> None:
    async def main() -> None:
        async with await AsyncMemorist.open(database_url) as m:
            tenant = new_tenant()
            me = await m.user("ada", agent="coder", tenant=tenant)
            assert me.principal.user == "ada"
            results = await asyncio.gather(*(me.remember(f"text {number}") for number in range(20)))
            assert all(result.was_new for result in results)
            memory = results[0].memory
            assert (await me.get(memory.id)).content == memory.content
            assert len((await me.list(limit=100)).items) == 20
            edited = await me.edit(memory.id, {"content": "edited", "name": "named"})
            assert (await me.section()).count == 1
            await me.forget(memory.id, expected_version=edited.version)
            assert len(await me.events(memory.id)) == 3
            with pytest.raises(NotFound):
                await me.get(memory.id)
            assert (await me.remember_all([Draft("one"), Draft("one")]))[1].was_new is False
            admin = await m.admin(tenant=tenant)
            lines = list(admin._wrapped.export())
            assert await me.reset() == 21
            assert (await me.import_(lines)).imported == 21
            _, secret = m._wrapped._core.identity.create_key(admin.principal, Role.READER, user="ada")
            assert (await m.with_key(secret)).principal.role is Role.READER

    asyncio.run(main())


def test_handle_of_a_revoked_key_stops(tmp_path: Path) -> None:
    with Memorist.open(tmp_path) as m:
        operator = m.admin().principal
        key, secret = m._core.identity.create_key(operator, Role.USER, user="ada")
        me = m.with_key(secret)
        me.remember("before")
        m._core.identity.revoke_key(operator, key.id)
        with pytest.raises(Unauthenticated):
            me.remember("after")


def test_reading_makes_no_tenant(tmp_path: Path) -> None:
    with Memorist.open(tmp_path) as m:
        assert m.user("ada", tenant="typo").list().items == ()
        assert m._core.identity.list_tenants() == []
        m.user("ada", tenant="acme").remember("something")
        assert [tenant.id for tenant in m._core.identity.list_tenants()] == ["acme"]


@pytest.mark.parametrize("filters", [{"order": "random"}, {"kind": "facts"}, {"status": "gone"}])
def test_list_refuses_what_it_does_not_know(tmp_path: Path, filters: dict[str, str]) -> None:
    with Memorist.open(tmp_path) as m, pytest.raises(InvalidField):
        m.user("ada").list(**filters)


def test_changes_are_followed_by_the_library(opened: Memorist) -> None:
    me = opened.user("ada", tenant=new_tenant())
    first = me.remember("one").memory
    me.forget(first.id)
    found = list(me.changes(after="0-0", wait=0))
    assert [(change.action, change.memory_id) for change in found] == [("created", first.id), ("deleted", first.id)]
    assert list(me.changes(after=found[0].position, wait=0)) == found[1:]
    assert list(me.changes(wait=0)) == []
    with pytest.raises(InvalidCursor):
        list(me.changes(after="99999999999999999-1", wait=0))


def test_changes_are_followed_from_asyncio(database_url: str) -> None:
    async def main() -> None:
        async with await AsyncMemorist.open(database_url) as m:
            me = await m.user("ada", tenant=new_tenant())
            first = await me.remember("one")
            following = me.changes(after="0-0")
            assert (await anext(following)).memory_id == first.memory.id
            waiting = asyncio.ensure_future(anext(following))
            second = await me.remember("two")
            assert (await waiting).memory_id == second.memory.id
            await following.aclose()
            found = [change.memory_id async for change in me.changes(after="0-0", wait=0)]
            assert found == [first.memory.id, second.memory.id]
            with pytest.raises(InvalidCursor):
                await anext(me.changes(after="99999999999999999-1"))

    asyncio.run(main())


WRONG = (None, 5, True, [], {"a": 1}, b"x", "x", [5], object())
"""Of these types one fits, and its value does not."""


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("get", ["memory_id"]), ("events", ["memory_id"]), ("forget", ["memory_id"]), ("restore", ["memory_id"]),
        ("edit", ["memory_id", "changes"]), ("history", ["fact_id"]), ("get_turn", ["turn_id"]),
        ("get_job", ["job_id"]), ("read_tool_output", ["key"]), ("remember_all", ["drafts"]),
        ("record_finding", ["finding"]),
        ("add_messages", ["session", "messages"]), ("run_tool", ["name", "arguments"]), ("import_", ["lines"]),
        ("turn", ["messages"]), ("turn_events", ["turn_id"]),
    ],
)  # fmt: skip
def test_argument_of_a_wrong_type_is_an_error_of_ours(opened: Memorist, verb: str, arguments: list[str]) -> None:
    me = opened.user("ada", tenant=new_tenant())
    memory = me.remember("The user lives in Lisbon.").memory
    fitting = {"memory_id": memory.id, "session": "s1", "name": "recall"}
    # An empty list of drafts, messages or changes asks for nothing.
    wrong = [(name, value) for name in arguments for value in WRONG if value != []]
    for name, value in wrong:
        given = [value if one == name else fitting.get(one, "x") for one in arguments]
        with pytest.raises(MemoristError) as refused:
            begin(getattr(me, verb), given)
        assert type(refused.value) is not MemoristError, (name, value)


def begin(verb: Callable[..., Any], given: list[Any]) -> None:
    """What comes piece by piece begins with the first."""
    done = verb(*given)
    if isinstance(done, Iterator):
        next(done)


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("recall", "category"), ("recall", "project"), ("recall", "source_kinds"), ("recall", "why_not"),
        ("context", "budget_tokens"), ("about", "person"), ("export", "kinds"), ("remember", "owner"),
    ],
)  # fmt: skip
def test_option_of_a_wrong_type_is_an_error_of_ours(opened: Memorist, verb: str, name: str) -> None:
    me = opened.user("ada", tenant=new_tenant())
    given = () if verb in ("context", "about", "export") else ("Where?",)
    for value in (b"x", {"a": 1}, object()):
        with pytest.raises(Invalid):
            list(getattr(me, verb)(*given, **{name: value}))
