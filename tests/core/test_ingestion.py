"""What an agent saw: messages, tool outputs, documents and facts, stored verbatim and by whom they belong to."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from memorist.core import Core
from memorist.errors import Forbidden, InvalidField, InvalidId, NotFound
from memorist.facts.service import FactScope
from memorist.ingestion.service import Message, StoredDocument, preview_of
from memorist.memories.hashes import content_hash
from memorist.memories.values import Kind, Trust
from memorist.platform.values import Owner, Principal, Role
from memorist.testing import new_tenant
from tests.support.stores import checked


def test_messages_are_stored_in_order_with_role_speaker_and_trust(core: Core, ada: Principal) -> None:
    messages = [
        Message("user", "Hello"),
        Message("assistant", "Hi", name="Helper", meta={"turn": 7}),
        Message("tool", "42"),
    ]
    stored = [result.memory for result in core.ingestion.add_messages(ada, "s1", messages)]
    assert [memory.content for memory in stored] == ["Hello", "Hi", "42"]
    assert [memory.trust for memory in stored] == [Trust.USER, Trust.AGENT, Trust.TOOL]
    assert [memory.meta for memory in stored] == [
        {"role": "user"},
        {"turn": 7, "role": "assistant", "speaker": "Helper"},
        {"role": "tool"},
    ]
    assert {memory.session for memory in stored} == {"s1"}
    assert [memory.id for memory in stored] == sorted(memory.id for memory in stored)


def test_same_message_twice_was_said_twice(core: Core, ada: Principal) -> None:
    results = core.ingestion.add_messages(ada, "s1", [Message("user", "Yes"), Message("user", "Yes")])
    assert [result.was_new for result in results] == [True, True]


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (Message("user", ""), "messages.1.content"),
        (Message("", "text"), "messages.1.role"),
        (Message("two words", "text"), "messages.1.role"),
        (Message("user", "text", name="two\nlines"), "messages.1.name"),
        (Message("user", "text", meta={"speaker": {"id": 7, "name": "Ada"}}), "messages.1.meta.speaker"),
        (Message("user", "text", meta={"speaker": "two\nlines"}), "messages.1.meta.speaker"),
        (Message("user", "a\x00b"), "messages.1.content"),
    ],
)
def test_one_bad_message_refuses_all_and_is_named(core: Core, ada: Principal, bad: Message, field: str) -> None:
    with pytest.raises(InvalidField, match=r"messages\.1: ") as caught:
        core.ingestion.add_messages(ada, "s1", [Message("user", "good"), bad])
    assert caught.value.field == field
    assert core.memories.list(ada).items == ()


def test_no_messages_and_no_session_are_refused(core: Core, ada: Principal) -> None:
    with pytest.raises(InvalidField, match="At least one message"):
        core.ingestion.add_messages(ada, "s1", [])
    with pytest.raises(InvalidField, match="session"):
        core.ingestion.add_messages(ada, "", [Message("user", "text")])


def test_messages_under_one_key_are_stored_once(core: Core, ada: Principal) -> None:
    first, again = (
        core.ingestion.add_messages(ada, "s1", [Message("user", "Hello")], idempotency_key="k") for _ in range(2)
    )
    assert first[0].memory.id == again[0].memory.id
    assert len(core.memories.list(ada).items) == 1


@pytest.mark.parametrize("size", [1, 3999, 4000])
def test_short_tool_output_is_its_own_preview(core: Core, ada: Principal, size: int) -> None:
    output = core.ingestion.add_tool_output(ada, "s1", tool_call_id="c", tool_name="t", content="x" * size)
    assert (output.truncated, output.preview) == (False, "x" * size)
    assert core.ingestion.read_tool_output(ada, output.key)[1] == "x" * size


def test_long_tool_output_shows_beginning_and_end_and_is_kept_whole(core: Core, ada: Principal) -> None:
    content = "beginning " + "middle " * 5000 + "end"
    output = core.ingestion.add_tool_output(ada, "s1", tool_call_id="c", tool_name="t", content=content)
    assert output.truncated
    assert output.key == output.memory.id.replace("mem_", "tout_")
    assert output.preview == output.memory.content
    assert len(output.preview) <= 4000
    assert output.preview.startswith("beginning ")
    assert output.preview.endswith("end")
    assert f"read_tool_output has all of it: tool_output_key {output.key} …]" in output.preview
    assert output.memory == core.memories.list(ada).items[0]
    assert output.memory.content_hash == content_hash(output.preview)
    assert output.memory.kind is Kind.TOOL_OUTPUT
    assert core.ingestion.read_tool_output(ada, output.key)[1] == content


@pytest.mark.parametrize("content", ["", " \n", " " * 9000])
def test_output_without_a_word_is_kept_and_its_memory_says_so(core: Core, ada: Principal, content: str) -> None:
    output = core.ingestion.add_tool_output(ada, "s1", tool_call_id="c", tool_name="t", content=content)
    assert (output.truncated, output.preview) == (False, "[The tool returned an empty text.]")
    assert output.memory.meta is not None
    assert output.memory.meta["size"] == len(content)
    assert core.ingestion.read_tool_output(ada, output.key)[1] == content
    there = replace(ada, tenant=core.identity.create_tenant(new_tenant())[0].id)
    list(core.transfer.import_(there, list(core.transfer.export(ada))))
    assert core.ingestion.read_tool_output(there, output.key)[1] == content


@pytest.mark.parametrize("longest", [200, 1000, 4000])
@pytest.mark.parametrize("length", [199, 201, 5000, 20_000_000])
def test_preview_is_never_longer_than_it_may_be(longest: int, length: int) -> None:
    preview = preview_of("x" * length, longest)
    assert len(preview) <= longest
    assert (preview == "x" * length) is (length <= longest)


@pytest.mark.parametrize("content", [{"rows": [1, "zwölf"]}, [], [1, 2], 0, False, {"a": None}, [{"type": "image"}]])
def test_json_of_a_tool_is_kept_as_json_text(core: Core, ada: Principal, content: object) -> None:
    output = core.ingestion.add_tool_output(ada, "s1", tool_call_id="c", tool_name="t", content=content)
    assert output.preview == json.dumps(content, ensure_ascii=False)


@pytest.mark.parametrize("content", [None, float("nan"), {1, 2}, b"bytes"])
def test_what_is_neither_text_nor_json_is_no_tool_output(core: Core, ada: Principal, content: object) -> None:
    with pytest.raises(InvalidField):
        core.ingestion.add_tool_output(ada, "s1", tool_call_id="c", tool_name="t", content=content)


def test_tool_output_of_another_is_not_found(core: Core, ada: Principal, bob: Principal) -> None:
    output = core.ingestion.add_tool_output(ada, "s1", tool_call_id="c", tool_name="t", content="x" * 9000)
    elsewhere = replace(ada, tenant=core.identity.create_tenant(new_tenant())[0].id)
    for stranger in (bob, elsewhere):
        with pytest.raises(NotFound):
            core.ingestion.read_tool_output(stranger, output.key)
    fact = core.facts.remember(ada, "a fact").memory
    with pytest.raises(NotFound):
        core.ingestion.read_tool_output(ada, fact.id.replace("mem_", "tout_"))
    with pytest.raises(InvalidId):
        core.ingestion.read_tool_output(ada, "nonsense")
    core.memories.forget(ada, output.memory.id)
    with pytest.raises(NotFound):
        core.ingestion.read_tool_output(ada, output.key)


def test_fact_is_the_users_or_the_agents_and_written_once(core: Core, tenant: str) -> None:
    coder = Principal(tenant, Role.SERVICE, "ada", "coder", session="s1")
    user = core.facts.remember(coder, "likes tea")
    agent = core.facts.remember(coder, "likes tea", FactScope.AGENT)
    assert (user.memory.owner, agent.memory.owner) == (Owner("ada"), Owner(None, "coder"))
    assert (user.was_new, agent.was_new) == (True, True)
    again = core.facts.remember(replace(coder, session="s2"), "likes tea")
    assert (again.was_new, again.memory.id) == (False, user.memory.id)
    other = core.facts.remember(replace(coder, user="bob"), "likes tea", "agent")
    assert (other.was_new, other.memory.id) == (False, agent.memory.id)


def test_fact_about_nobody_is_refused(core: Core, tenant: str, admin: Principal) -> None:
    with pytest.raises(InvalidField, match="scope user needs a user"):
        core.facts.remember(admin, "text")
    with pytest.raises(InvalidField, match="scope agent needs an agent"):
        core.facts.remember(Principal(tenant, Role.USER, "ada"), "text", "agent")
    with pytest.raises(InvalidField, match="scope must be one of"):
        core.facts.remember(admin, "text", "galaxy")
    with pytest.raises(Forbidden):
        core.facts.remember(Principal(tenant, Role.READER, "ada"), "text")


def test_document_is_the_tenants_for_an_admin_and_the_callers_otherwise(
    core: Core, ada: Principal, admin: Principal
) -> None:
    shared = core.ingestion.add_document(admin, title="Manual", content="Press the button.").document
    own = core.ingestion.add_document(ada, title="Diary", content="Today it rained.").document
    assert (shared.owner, own.owner) == (Owner(), Owner("ada"))
    assert core.ingestion.add_document(admin, title="Mine", content="text", shared=True).document.owner == Owner()
    assert core.ingestion.add_document(ada, title="Menu", content="text", shared=True).document.owner == Owner()
    with pytest.raises(Forbidden):
        core.ingestion.add_document(ada, title="Manual", content="text", shared=True)
    with pytest.raises(NotFound):
        core.ingestion.get_document(replace(ada, user="bob"), own.id)
    assert core.ingestion.get_document(replace(ada, user="bob"), shared.id) == shared


def test_document_uploaded_again_replaces_its_chunks_or_changes_nothing(core: Core, ada: Principal) -> None:
    text = "\n\n".join(f"Paragraph {number}. " + "Words and more words. " * 40 for number in range(8))
    first = core.ingestion.add_document(ada, title="Diary", content=text)
    assert (first.was_new, first.changed) == (True, True)
    same = core.ingestion.add_document(ada, title="Diary", content=text)
    assert (same.was_new, same.changed, same.document.id) == (False, False, first.document.id)
    before = core.store.read(ada.tenant, lambda tx: tx.documents.chunks_of(first.document))
    assert len(before) == first.document.chunks > 1
    second = core.ingestion.add_document(ada, title="Diary", content="Short now.")
    assert (second.was_new, second.changed, second.document.id) == (False, True, first.document.id)
    after = core.store.read(ada.tenant, lambda tx: tx.documents.chunks_of(second.document))
    assert [chunk.content for chunk in after] == ["Short now."]
    events = core.memories.events(ada, before[0].id)
    assert [event.event_type for event in events] == ["created", "replaced"]
    assert checked(core.store, ada.tenant) == "ok"


@pytest.mark.parametrize("document_id", [None, "rules"])
def test_uploads_of_one_document_at_the_same_time_leave_one_of_them(
    core: Core, ada: Principal, document_id: str | None
) -> None:
    at_once = threading.Barrier(4)

    def upload(number: int) -> StoredDocument:
        at_once.wait(10)
        text = f"Version {number} allows {number}00 euros. " * 60
        return core.ingestion.add_document(ada, title="Rules", content=text, document_id=document_id)

    for is_first in (True, False):
        with ThreadPoolExecutor(4) as threads:
            stored = list(threads.map(upload, range(4)))
        (left,) = core.ingestion.list_documents(ada).items
        assert sum(one.was_new for one in stored) == is_first
        assert {one.document.id for one in stored} == {left.id}
        left = core.ingestion.get_document(ada, left.id)
        chunks = core.memories.list(ada, kind=Kind.DOCUMENT_CHUNK, limit=100).items
        assert len(chunks) == left.chunks > 1
        assert all(left.holds(chunk) and chunk.content[:9] == left.content[:9] for chunk in chunks)


def test_document_forgotten_while_it_is_replaced_leaves_no_chunk(core: Core, ada: Principal) -> None:
    core.ingestion.add_document(ada, title="Diary", content="Today it rained.", document_id="diary")
    at_once = threading.Barrier(2)

    def replace_it() -> None:
        at_once.wait(10)
        core.ingestion.add_document(ada, title="Diary", content="Now the sun shines.", document_id="diary")

    def forget_it() -> None:
        at_once.wait(10)
        core.ingestion.forget_document(ada, "diary")

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda work: work(), [replace_it, forget_it]))
    left = core.ingestion.list_documents(ada).items
    chunks = core.memories.list(ada, kind=Kind.DOCUMENT_CHUNK).items
    assert len(chunks) == sum(document.chunks for document in left)


def test_forgotten_document_is_gone_with_its_chunks(core: Core, ada: Principal, bob: Principal) -> None:
    document = core.ingestion.add_document(ada, title="Diary", content="Today it rained.").document
    with pytest.raises(NotFound):
        core.ingestion.forget_document(bob, document.id)
    core.ingestion.forget_document(ada, document.id)
    with pytest.raises(NotFound):
        core.ingestion.get_document(ada, document.id)
    assert core.memories.list(ada).items == ()


def test_document_that_only_an_admin_may_write_is_not_forgotten_by_others(
    core: Core, ada: Principal, admin: Principal
) -> None:
    document = core.ingestion.add_document(admin, title="Manual", content="Press the button.").document
    with pytest.raises(Forbidden):
        core.ingestion.forget_document(ada, document.id)
    assert core.ingestion.get_document(ada, document.id) == document


def test_payloads_and_documents_travel_with_an_export(core: Core, ada: Principal) -> None:
    output = core.ingestion.add_tool_output(ada, "s1", tool_call_id="c", tool_name="t", content="x" * 9000)
    document = core.ingestion.add_document(ada, title="Diary", content="Today it rained.").document
    lines = list(core.transfer.export(ada))
    there = replace(ada, tenant=core.identity.create_tenant(new_tenant())[0].id)
    list(core.transfer.import_(there, lines))
    assert core.ingestion.read_tool_output(there, output.key)[1] == "x" * 9000
    assert core.ingestion.get_document(there, document.id) == document
    assert list(core.transfer.export(there)) == lines


def test_reset_takes_payloads_and_documents(core: Core, ada: Principal, bob: Principal) -> None:
    for who in (ada, bob):
        core.ingestion.add_tool_output(who, "s1", tool_call_id="c", tool_name="t", content="x" * 9000)
        core.ingestion.add_document(who, title="Diary", content="Today it rained.")
    core.erasure.reset(ada)
    assert core.ingestion.list_documents(ada).items == ()
    assert len(core.ingestion.list_documents(bob).items) == 1
    assert checked(core.store, ada.tenant) == "ok"
