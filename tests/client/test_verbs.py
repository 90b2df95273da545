"""Every verb against a real server, on both databases."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from memorist import errors
from memorist.client import AsyncClient, Client
from memorist.facts.values import DoubtStatus
from memorist.ingestion.service import Message
from memorist.memories.values import Kind, Memory, Order, Retention, Status
from memorist.platform.values import Change, Owner, Role
from memorist.recall.values import Scope
from memorist.surfaces.library import Handle, Memorist
from tests.http.conftest import Served


def test_named_memory_is_written_read_changed_and_forgotten(ada: Client) -> None:
    written = ada.remember(
        "Deploy on Fridays.", name="deploy_day", category="project", description="When", importance=3
    )
    assert written.was_new
    memory = ada.get(written.memory.id)
    assert (memory.content, memory.name, memory.category, memory.importance) == (
        "Deploy on Fridays.", "deploy_day", "project", 3,
    )  # fmt: skip
    assert memory.user == "ada"
    changed = ada.edit(memory.id, {"content": "Deploy on Mondays."}, expected_version=memory.version)
    assert changed.content == "Deploy on Mondays."
    with pytest.raises(errors.StaleVersion):
        ada.edit(memory.id, {"content": "Never."}, expected_version=memory.version)
    with pytest.raises(errors.NameTaken):
        ada.remember("Again.", name="deploy_day", category="project")
    assert [event.event_type for event in ada.events(memory.id)] == ["created", "updated"]
    section = ada.section()
    assert section.count == 1
    assert "When" in section.text
    ada.forget(memory.id)
    with pytest.raises(errors.NotFound):
        ada.get(memory.id)
    assert ada.restore(memory.id).status is Status.ACTIVE


def test_export_with_the_largest_line_is_imported_again(ada: Client) -> None:
    output = ada.add_tool_output("s", tool_call_id="c", tool_name="cat", content="A line.\n" * 400_000)
    lines = [*ada.export()]
    assert max(map(len, lines)) > 3_000_000
    ada.reset()
    assert ada.import_(lines).imported == len(lines) - 2
    assert ada.read_tool_output(output.key) == "A line.\n" * 400_000


@pytest.mark.parametrize("name", [".", "..", "...", "a/../b"])
def test_names_that_a_path_would_take_for_steps_are_names(ada: Client, name: str) -> None:
    [said] = ada.add_messages(name, [Message("user", "Hello.")], extract=False)
    assert said.memory.session == name
    ada.add_document("Notes", "Cats purr.", document_id=name)
    assert ada.get_document(name).id == name
    assert ada.forget_document(name).id == name


def test_memory_with_a_time_to_live_says_when_it_ends(ada: Client) -> None:
    memory = ada.remember("A code for today.", retention=Retention.POLICY, ttl=timedelta(hours=2)).memory
    assert memory.expires_at is not None
    assert memory.created_at is not None
    assert memory.expires_at - memory.created_at == timedelta(hours=2)


def test_fact_is_recalled_and_stored_once(ada: Client) -> None:
    first = ada.remember_fact("The office is in Lisbon.")
    again = ada.remember_fact("The office is in Lisbon.")
    assert (first.was_new, again.was_new) == (True, False)
    assert first.memory.id == again.memory.id
    found = ada.recall("Where is the office?", scope=Scope.USER, explain=True, why_not=first.memory.id)
    assert found.hits[0].memory.id == first.memory.id
    assert found.hits[0].excerpt == "The office is in Lisbon."
    assert found.hits[0].explanation
    assert found.why_not
    assert ada.history(first.memory.id)[0].memory.content == "The office is in Lisbon."
    assert ada.in_doubt().items == ()


def test_doubt_is_decided_for_the_older_fact(ada: Client) -> None:
    ada.remember_fact("The user works at Siemens and plays the cello.")
    ada.remember_fact("The user no longer works at Siemens.")
    [pair] = ada.in_doubt().items
    decided = ada.refute_doubt(pair.doubt.id)
    assert decided.doubt.status is DoubtStatus.REFUTED
    assert (decided.fact.status, decided.other.status) == (Status.ARCHIVED, Status.ACTIVE)
    assert [one.doubt.id for one in ada.in_doubt(status=DoubtStatus.REFUTED).items] == [pair.doubt.id]
    with pytest.raises(errors.Conflict):
        ada.confirm_doubt(pair.doubt.id)


def test_repeated_write_under_one_key_is_replayed(ada: Client) -> None:
    message = [Message("user", "Hello.")]
    first = ada.add_messages("chat/1", message, idempotency_key="k1")
    again = ada.add_messages("chat/1", message, idempotency_key="k1")
    assert [one.memory.id for one in first] == [one.memory.id for one in again]
    assert (first[0].replayed, again[0].replayed) == (False, True)


def test_tool_output_comes_back_whole(ada: Client) -> None:
    payload = "line\n" * 5000
    stored = ada.add_tool_output("chat 1".replace(" ", "-"), tool_call_id="c1", tool_name="ls", content=payload)
    assert stored.truncated
    assert ada.read_tool_output(stored.key) == payload
    with pytest.raises(errors.InvalidId):
        ada.read_tool_output("nonsense")


def test_documents_of_any_name(ada: Client) -> None:
    for name in ("a/b", "ü?&#%", "c"):
        assert ada.add_document("Notes", "Cats purr. 猫", document_id=name).was_new
    assert ada.get_document("ü?&#%").content == "Cats purr. 猫"
    assert ada.add_document("Bytes", b"From bytes.", document_id="c").changed
    assert [one.id for one in ada.iterate_documents()] == sorted(["a/b", "ü?&#%", "c"])
    assert len(ada.list_documents(limit=2).items) == 2
    ada.forget_document("a/b")
    with pytest.raises(errors.NotFound):
        ada.get_document("a/b")


def test_iterating_walks_all_pages(ada: Client) -> None:
    for number in range(7):
        ada.remember(f"Body {number}.", name=f"memory_{number}", category="user", importance=number)
    page = ada.list(named=True, order=Order.IMPORTANCE, limit=2)
    assert [memory.name for memory in page.items] == ["memory_6", "memory_5"]
    assert page.next_cursor
    names = [memory.name for memory in ada.iterate(named=True, order=Order.IMPORTANCE, limit=3)]
    assert names == [f"memory_{number}" for number in range(6, -1, -1)]
    ada.remember("To run a marathon.", category="goal")
    assert [memory.content for memory in ada.iterate(category="goal")] == ["To run a marathon."]
    for refused in ({"order": Order.IMPORTANCE}, {"limit": 0}, {"category": "x" * 1000}, {"agent": "two words"}):
        with pytest.raises(errors.InvalidField):
            ada.list(**refused)
    with pytest.raises(errors.InvalidCursor):
        ada.list(cursor="nonsense")


def remember_of_every_kind(ada: Client) -> None:
    ada.remember("Just a note.")
    ada.remember_fact("Rex lives in Rome.")
    ada.remember("On Fridays.", name="deploy_day", category="project", description="When", importance=3)
    ada.remember("In Go.", name="language", category="project", owner=Owner("ada", "coder"))
    ada.remember("To run a marathon.", category="goal", confidence=0.5)
    ada.remember("We chose SQLite.", category="decision", session="s", project="/work", excerpt="chose", relevance=0.9)
    ada.remember("For a while.", retention=Retention.POLICY, ttl=timedelta(days=2), meta={"a": [1]})
    ada.add_messages("s", [Message("user", "Hello.", name="Ada"), Message("assistant", "Hi.")])
    ada.add_tool_output("s", tool_call_id="c", tool_name="t", content="42")
    ada.add_document("Notes", "Cats purr.", document_id="d")
    archived = ada.remember("Long ago.", retention=Retention.POLICY).memory
    ada.archive(archived.id)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"limit": 3},
        {"kind": Kind.FACT},
        {"kind": Kind.CHAT_MESSAGE, "session": "s"},
        {"kind": Kind.DOCUMENT_CHUNK},
        {"named": True, "order": Order.IMPORTANCE},
        {"named": True, "agent": "coder"},
        {"agent": "elsewhere"},
        {"category": "decision"},
        {"project": "/work"},
        {"session": "s"},
        {"status": Status.ARCHIVED},
    ],
)
def test_list_is_that_of_the_library(by_keyword: Served, tenant: str, ada: Client, asked: dict[str, Any]) -> None:
    remember_of_every_kind(ada)
    handle = Memorist(by_keyword.core).user("ada", tenant=tenant)
    expected = handle.list(**asked)
    page = ada.list(**asked)
    assert page.items
    assert page.items == expected.items
    assert (page.next_cursor is None) == (expected.next_cursor is None)
    assert [memory.id for memory in ada.iterate(**asked)] == [memory.id for memory in walked(handle, asked)]


def walked(handle: Handle, asked: dict[str, Any]) -> Iterator[Memory]:
    cursor = None
    while True:
        page = handle.list(**asked, cursor=cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def test_what_was_listed_can_be_changed_by_its_version(ada: Client) -> None:
    ada.remember("Rex lives in Rome.")
    (listed,) = ada.iterate()
    ada.edit(listed.id, {"content": "Rex lives in Turin."}, expected_version=listed.version)
    with pytest.raises(errors.StaleVersion):
        ada.edit(listed.id, {"content": "Rex lives in Oslo."}, expected_version=listed.version)


def test_tools_are_listed_and_run(ada: Client) -> None:
    names = [tool["name"] for tool in ada.tools("mcp")]
    assert {"recall", "remember_fact", "read_tool_output"} <= set(names)
    assert ada.run_tool("remember_fact", {"content": "Tea is served at four."})["was_new"] is True
    assert ada.run_tool("recall", {"query": "tea"})["total"] == 1
    with pytest.raises(errors.InvalidField):
        ada.run_tool("recall", {"quer": "tea"})


def test_purge_answers_with_the_receipt(ada: Client) -> None:
    ada.remember_fact("Something private.")
    receipt = ada.purge()
    assert receipt.counts
    assert ada.receipt(receipt.id).id == receipt.id
    assert receipt.id in [one.id for one in ada.receipts()]
    assert ada.verify(receipt.id).ok


def test_service_key_acts_for_whom_it_names(by_keyword: Served, tenant: str) -> None:
    key = by_keyword.key(tenant, Role.SERVICE, None)
    with Client(by_keyword.url, api_key=key, user="bob", agent="coder", session="s1") as bob:
        memory = bob.remember("Bob's.", name="mine", category="user").memory
        assert (memory.user, memory.agent) == ("bob", "coder")
    with (
        Client(by_keyword.url, api_key=key, user="eve") as eve,
        pytest.raises(errors.NotFound),
    ):
        eve.get(memory.id)


def test_reader_cannot_write(by_keyword: Served, tenant: str) -> None:
    with (
        Client(by_keyword.url, api_key=by_keyword.key(tenant, Role.READER, "ada")) as reader,
        pytest.raises(errors.Forbidden),
    ):
        reader.remember_fact("No.")


def test_wrong_key_is_refused(by_keyword: Served) -> None:
    with Client(by_keyword.url, api_key="mst_live_wrong") as nobody, pytest.raises(errors.Unauthenticated):
        nobody.section()


def test_address_and_key_come_from_the_environment(
    by_keyword: Served, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIST_URL", by_keyword.url + "/")
    monkeypatch.setenv("MEMORIST_API_KEY", by_keyword.key(tenant, Role.USER, "ada"))
    with Client() as client:
        assert client.section().count == 0


def test_no_proxy_is_asked_for_a_server_of_this_machine(
    by_keyword: Served, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Client(by_keyword.url, api_key=by_keyword.key(tenant, Role.USER, "ada")) as client:
        assert client.section().count == 0


def test_client_without_a_key_or_with_a_strange_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORIST_API_KEY", raising=False)
    with pytest.raises(errors.Unauthenticated):
        Client("http://127.0.0.1:1")
    with pytest.raises(errors.InvalidSetting):
        Client("127.0.0.1:8377", api_key="k")
    with pytest.raises(errors.InvalidField):
        Client("http://127.0.0.1:1", api_key="k", user="two words")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("address", ["http://ada:pass@127.0.0.1:9", "http://pass@localhost", "https://:pass@h/memory"])
def test_address_with_a_password_is_refused_and_not_quoted(kind: type[Any], address: str) -> None:
    with pytest.raises(errors.InvalidSetting) as caught:
        kind(address, api_key="k")
    assert "no password" in caught.value.message
    assert "pass@" not in caught.value.message


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("address", ["http://[::1", "http://localhost:port", "http://localhost\n"])
def test_address_that_cannot_be_read_is_refused(kind: type[Any], address: str) -> None:
    with pytest.raises(errors.InvalidSetting):
        kind(address, api_key="k")


def test_client_that_was_closed_says_so(by_keyword: Served, tenant: str) -> None:
    key = by_keyword.key(tenant, Role.USER, "ada")
    closed = Client(by_keyword.url, api_key=key)
    closed.close()
    uses = [closed.list, lambda: next(closed.export()), lambda: next(closed.changes())]
    for use in uses:
        with pytest.raises(errors.ServerUnavailable, match="The client was closed"):
            use()


def test_awaited_client_that_was_closed_says_so(by_keyword: Served, tenant: str) -> None:
    async def main() -> None:
        closed = AsyncClient(by_keyword.url, api_key=by_keyword.key(tenant, Role.USER, "ada"))
        await closed.close()
        uses = [closed.list, lambda: anext(closed.export()), lambda: anext(closed.changes())]
        for use in uses:
            with pytest.raises(errors.ServerUnavailable, match="The client was closed"):
                await use()

    asyncio.run(main())


def test_awaited_client_does_the_same(by_keyword: Served, tenant: str) -> None:
    async def main() -> None:
        async with AsyncClient(by_keyword.url, api_key=by_keyword.key(tenant, Role.USER, "ada")) as client:
            await asyncio.gather(
                *(client.remember(f"Body {n}.", name=f"memory_{n}", category="user") for n in range(5))
            )
            assert len([memory async for memory in client.iterate(named=True, limit=2)]) == 5
            await client.remember_fact("Rex lives in Rome.")
            assert [one.content for one in (await client.list(limit=1)).items] == ["Rex lives in Rome."]
            assert len([memory async for memory in client.iterate(kind=Kind.FACT)]) == 6
            await client.add_document("Notes", "Cats purr.", document_id="d")
            assert [document.id async for document in client.iterate_documents()] == ["d"]
            with pytest.raises(errors.NotFound):
                await client.get_document("e")

    asyncio.run(main())


def test_changes_are_told_as_they_happen(ada: Client) -> None:
    found: list[Change] = []
    ready = threading.Event()
    done = threading.Event()

    def follow() -> None:
        for change in ada.changes():
            found.append(change)
            ready.set()
            if change.action == "deleted":
                break
        done.set()

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    # The stream begins when the server has it, which only an event tells.
    made = []
    while not ready.wait(0.2):
        made.append(ada.remember_fact(f"Fact number {len(made)}.").memory.id)
    ada.forget(made[-1])
    assert done.wait(20)
    assert found[-1].memory_id == made[-1]
    assert found[-1].action == "deleted"
    assert list(ada.changes(after=found[-2].position, wait=0.5)) == [found[-1]]


def test_transcript_is_stored_and_read(learning: Served, tenant: str) -> None:
    said = "User: I decided to use PostgreSQL for the billing service.\nAssistant: Noted."
    with Client(learning.url, api_key=learning.key(tenant, Role.USER, "ada")) as ada:
        found = ada.extract(said, project="/srv")
        assert (found.waiting, len(found.memories)) == (0, 1)
        assert any("PostgreSQL" in hit.excerpt for hit in ada.recall("PostgreSQL for billing").hits)


def test_turns_need_a_language_model(ada: Client) -> None:
    assert ada.turns().items == ()
    with pytest.raises(errors.LlmNotConfigured):
        next(iter(ada.turn([Message("user", "Hello")])))
    with pytest.raises(errors.NotFound):
        ada.get_turn("turn_01J9Z3K4M5N6P7Q8R9S0T1V2W3")
