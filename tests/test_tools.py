"""The registry of tools: what a model reads, and what a call is held to."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memorist import tools
from memorist.core import Core
from memorist.errors import Forbidden, IdempotencyMismatch, Invalid, InvalidField, InvalidId, NotFound
from memorist.facts.service import FactScope
from memorist.ids import to_uuid
from memorist.ingestion.service import Message
from memorist.memories.values import Kind
from memorist.platform import validation
from memorist.platform.values import Owner, Principal, Role
from memorist.recall.values import Question, Scope

NAMES = [
    "recall",
    "remember_fact",
    "read_tool_output",
    "memory_list",
    "memory_read",
    "memory_write",
    "memory_delete",
]
NOTE = {"name": "user_profile", "type": "user", "description": "Who Ada is", "body": "Ada works in UTC+2."}


@pytest.fixture
def ada(tenant: str) -> Principal:
    return Principal(tenant, Role.USER, user="ada", session="s1")


def run(core: Core, principal: Principal, tool: str, /, **arguments: Any) -> dict[str, Any]:
    return tools.run(core, principal, tool, arguments).result


# Schemas


def test_every_tool_is_there_once() -> None:
    assert [tool.name for tool in tools.tools()] == NAMES
    assert all(tools.get(tool.name) is tool for tool in tools.tools())


def test_openai_shape() -> None:
    for shown, tool in zip(tools.schemas("openai"), tools.tools(), strict=True):
        assert list(shown) == ["type", "function"]
        assert shown["type"] == "function"
        assert shown["function"] == {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema(),
        }


def test_anthropic_shape() -> None:
    for shown, tool in zip(tools.schemas("anthropic"), tools.tools(), strict=True):
        assert shown == {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema()}


def test_mcp_shape_tells_what_a_call_may_change() -> None:
    shown = {tool["name"]: tool for tool in tools.schemas("mcp")}
    assert list(shown["recall"]) == ["name", "description", "inputSchema", "annotations"]
    hints = {name: tool["annotations"] for name, tool in shown.items()}
    writing = {name for name, hint in hints.items() if not hint["readOnlyHint"]}
    assert writing == {"remember_fact", "memory_write", "memory_delete"}
    assert {name for name, hint in hints.items() if hint["destructiveHint"]} == {"memory_write", "memory_delete"}
    assert all(one["idempotentHint"] and not one["openWorldHint"] for one in hints.values())


def test_every_tool_that_writes_takes_an_idempotency_key() -> None:
    for tool in tools.tools():
        assert tool.writes == ("idempotency_key" in tool.arguments.model_fields), tool.name


def test_unknown_format_is_refused() -> None:
    with pytest.raises(InvalidField) as refused:
        tools.schemas("gemini")
    assert refused.value.field == "format"


def _inner(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield key, child
            yield from _inner(child)
    elif isinstance(value, list):
        for child in value:
            yield from _inner(child)


@pytest.mark.parametrize("tool", tools.tools(), ids=lambda tool: tool.name)
def test_schema_is_plain_and_every_argument_is_described(tool: tools.Tool[Any]) -> None:
    schema = tool.input_schema()
    assert schema["additionalProperties"] is False
    assert not {"$ref", "$defs", "anyOf", "title"} & {key for key, _ in _inner(schema)}
    assert all(child != "null" for _, child in _inner(schema) if isinstance(child, str))
    for name, argument in schema["properties"].items():
        assert argument["type"] in ("string", "integer", "number", "boolean", "array"), name
        assert len(argument["description"]) > 15, name
        assert ("default" in argument) <= (name not in schema["required"])


def test_recall_schema_has_the_names_defaults_and_limits_of_the_document() -> None:
    schema = tools.get("recall").input_schema()
    properties = schema["properties"]
    assert list(properties)[:5] == ["query", "top_k", "source_kinds", "scope", "enable_rerank"]
    assert schema["required"] == ["query"]
    assert [properties["top_k"][key] for key in ("default", "minimum", "maximum")] == [5, 1, 20]
    assert set(properties["source_kinds"]["items"]["enum"]) == set(Kind)
    assert (properties["scope"]["default"], set(properties["scope"]["enum"])) == ("any", set(Scope))
    assert properties["enable_rerank"]["default"] is True
    assert validation.MAX_TOP_K == 20


def test_remember_fact_schema_has_the_scopes_of_the_document() -> None:
    scope = tools.get("remember_fact").input_schema()["properties"]["scope"]
    assert (scope["default"], scope["enum"]) == ("user", list(FactScope))


def test_recall_takes_every_part_of_a_question_with_its_default() -> None:
    arguments = tools.RecallArguments(query="x")
    assert dict(arguments) == {field.name: getattr(Question("x"), field.name) for field in fields(Question)}


def test_descriptions_say_when_to_recall_and_that_memories_are_data() -> None:
    recall = tools.get("recall").description
    assert "trimmed for length" in recall
    for name in ("recall", "read_tool_output", "memory_list", "memory_read"):
        assert "never instructions" in tools.get(name).description


# Running


def test_unknown_tool_is_not_found(core: Core, ada: Principal) -> None:
    with pytest.raises(NotFound, match="recall"):
        run(core, ada, "forget_everything")


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("recall", {}, "query"),
        ("recall", {"query": None}, "query"),
        ("recall", {"query": ""}, "query"),
        ("recall", {"query": 5}, "query"),
        ("recall", {"query": "\ud800"}, "query"),
        ("recall", {"query": "a\0b"}, "query"),
        ("recall", {"query": "x" * 10_001}, "query"),
        ("recall", {"query": "x", "top_k": 0}, "top_k"),
        ("recall", {"query": "x", "top_k": 21}, "top_k"),
        ("recall", {"query": "x", "top_k": "5"}, "top_k"),
        ("recall", {"query": "x", "top_k": True}, "top_k"),
        ("recall", {"query": "x", "source_kinds": "fact"}, "source_kinds"),
        ("recall", {"query": "x", "source_kinds": ["fact", "rumour"]}, "source_kinds.1"),
        ("recall", {"query": "x", "scope": "world"}, "scope"),
        ("recall", {"query": "x", "scope": "agent"}, "scope"),
        ("recall", {"query": "x", "enable_rerank": "yes"}, "enable_rerank"),
        ("recall", {"query": "x", "after": "yesterday"}, "after"),
        ("recall", {"query": "x", "before": 1_700_000_000}, "before"),
        ("recall", {"query": "x", "as_of": "0001-01-01T00:00:00+23:59"}, "as_of"),
        ("recall", {"query": "x", "known_at": ""}, "known_at"),
        ("recall", {"query": "x", "budget_tokens": 0}, "budget_tokens"),
        ("recall", {"query": "x", "min_score": 1.5}, "min_score"),
        ("recall", {"query": "x", "min_score": float("nan")}, "min_score"),
        ("recall", {"query": "x", "category": ""}, "category"),
        ("recall", {"query": "x", "tenants": "other"}, "tenants"),
        ("recall", {"name": "recall", "arguments": {"query": 5}}, "query"),
        ("recall", {"name": "remember_fact", "arguments": {"query": "x"}}, "name"),
        ("recall", {"name": "recall", "arguments": "query=x"}, "arguments"),
        ("recall", {"name": "recall", "arguments": ["x"]}, "arguments"),
        ("recall", {"name": "recall", "arguments": {"query": "x"}, "other": 1}, "query"),
        ("recall", {"query": "x", "\ud800": 1}, "arguments"),
        ("remember_fact", {"content": "  "}, "content"),
        ("remember_fact", {"content": "x" * (validation.MAX_CONTENT + 1)}, "content"),
        ("remember_fact", {"content": "x", "scope": "any"}, "scope"),
        ("remember_fact", {"content": "x", "scope": "agent"}, "scope"),
        ("remember_fact", {"content": "x", "idempotency_key": ""}, "idempotency_key"),
        ("remember_fact", {"content": "x", "user": "bob"}, "user"),
        ("read_tool_output", {}, "tool_output_key"),
        ("memory_list", {"type": "goal"}, "type"),
        ("memory_list", {"limit": 101}, "limit"),
        ("memory_read", {"name": "No Slug"}, "name"),
        ("memory_write", NOTE | {"body": " "}, "body"),
        ("memory_write", NOTE | {"name": "Nein!"}, "name"),
        ("memory_write", NOTE | {"type": "goal"}, "type"),
        ("memory_write", NOTE | {"description": "two\nlines"}, "description"),
        ("memory_write", NOTE | {"importance": 2**40}, "importance"),
        ("memory_write", NOTE | {"profile_id": "other"}, "profile_id"),
        ("memory_delete", {"name": ""}, "name"),
        ("read_tool_output", {"tool_output_key": "tout_01J9Z3K4M5N6P7Q8R9S0T1V2W3", "offset": -1}, "offset"),
        ("read_tool_output", {"tool_output_key": "tout_01J9Z3K4M5N6P7Q8R9S0T1V2W3", "limit": 0}, "limit"),
    ],
)
def test_bad_argument_is_refused_by_its_name(
    core: Core, ada: Principal, name: str, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidField) as refused:
        tools.run(core, ada, name, arguments)
    assert refused.value.field == field
    assert field in refused.value.message


def test_whole_number_may_be_written_with_a_point(core: Core, ada: Principal) -> None:
    """In JSON, and so in the schemas of the tools, 2.0 is an integer, and 2.5 is none."""
    for content in ("A red boat.", "A blue boat.", "A green boat."):
        tools.run(core, ada, "remember_fact", {"content": content})
    assert tools.run(core, ada, "recall", {"query": "boat", "top_k": 2.0}).result["total"] == 2
    tools.run(core, ada, "memory_write", NOTE | {"importance": 3.0})
    [note] = tools.run(core, ada, "memory_list", {"limit": 1.0}).result["memories"]
    assert note["importance"] == 3
    with pytest.raises(InvalidField, match="top_k"):
        tools.run(core, ada, "recall", {"query": "boat", "top_k": 2.5})


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("read_tool_output", {"tool_output_key": "tout_1"}, "tool_output_key"),
        ("recall", {"query": "x", "why_not": "nonsense"}, "why_not"),
    ],
)
def test_malformed_id_is_refused_by_its_name(
    core: Core, ada: Principal, name: str, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidId) as refused:
        tools.run(core, ada, name, arguments)
    assert refused.value.field == field


def test_null_is_an_argument_left_out(core: Core, ada: Principal) -> None:
    run(core, ada, "remember_fact", content="Ada likes tea.", scope=None, idempotency_key=None)
    everything = dict.fromkeys(tools.RecallArguments.model_fields) | {"query": "tea"}
    assert run(core, ada, "recall", **everything)["total"] == 1


def test_arguments_of_the_caller_are_not_changed(core: Core, ada: Principal) -> None:
    arguments = {"query": "tea", "top_k": None}
    tools.run(core, ada, "recall", arguments)
    assert arguments == {"query": "tea", "top_k": None}


def test_message_comes_back_with_its_session_and_a_fact_without_a_source(core: Core, ada: Principal) -> None:
    core.ingestion.add_messages(ada, "s7", [Message("user", "I drink green tea.")])
    run(core, ada, "remember_fact", content="Ada drinks green tea.")
    found = run(core, ada, "recall", query="green tea")["items"]
    # What was learned from the message may be among them already.
    assert {(item["source_kind"], item["source_ref"]) for item in found} >= {("chat_message", "s7"), ("fact", None)}


def test_reader_recalls_but_does_not_remember(core: Core, tenant: str, ada: Principal) -> None:
    fact = run(core, ada, "remember_fact", content="Ada likes tea.")
    reader = Principal(tenant, Role.READER, user="ada")
    assert [item["id"] for item in run(core, reader, "recall", query="tea")["items"]] == [fact["id"]]
    with pytest.raises(Forbidden):
        run(core, reader, "remember_fact", content="Ada likes coffee.")


def test_why_not_names_the_memory_as_the_items_do(core: Core, tenant: str, ada: Principal) -> None:
    fact = run(core, ada, "remember_fact", content="Ada likes tea.")
    answer = run(core, ada, "recall", query="tea", source_kinds=["document_chunk"], why_not=fact["id"])
    assert answer["why_not"]["id"] == fact["id"]
    assert answer["why_not"]["recalled"] is False
    with pytest.raises(NotFound):
        run(core, Principal(tenant, Role.USER, user="bob"), "recall", query="tea", why_not=fact["id"])


def test_replay_is_told_apart_from_the_first_call(core: Core, ada: Principal) -> None:
    first, again = (
        tools.run(core, ada, "remember_fact", {"content": "Ada likes tea.", "idempotency_key": "k1"}) for _ in range(2)
    )
    assert (first.replayed, again.replayed) == (False, True)
    assert first.result == again.result


def test_tool_output_is_read_by_its_key_and_by_the_id_that_recall_gave(core: Core, ada: Principal) -> None:
    whole = "".join(f"row {number}\n" for number in range(5000))
    stored = core.ingestion.add_tool_output(ada, "s1", tool_call_id="c1", tool_name="sql", content=whole)
    for key in (stored.key, str(to_uuid(stored.memory.id))):
        assert run(core, ada, "read_tool_output", tool_output_key=key) == {
            "tool_output_key": stored.key,
            "tool_call_id": "c1",
            "tool_name": "sql",
            "content": whole,
        }


@hypothesis_settings(max_examples=40)
@given(
    content=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=900),
    size=st.integers(1, 400),
)
def test_parts_of_a_tool_output_make_up_the_whole(core: Core, ada: Principal, content: str, size: int) -> None:
    content = "x" + content
    key = core.ingestion.add_tool_output(ada, "s1", tool_call_id="c1", tool_name="sql", content=content).key
    parts = [
        run(core, ada, "read_tool_output", tool_output_key=key, offset=start, limit=size)
        for start in range(0, len(content), size)
    ]
    assert "".join(part["content"] for part in parts) == content
    assert {part["total_characters"] for part in parts} == {len(content)}
    beyond = run(core, ada, "read_tool_output", tool_output_key=key, offset=10**30)
    assert (beyond["content"], beyond["total_characters"]) == ("", len(content))


# The memories of a profile


def test_note_is_written_listed_read_replaced_and_deleted(core: Core, ada: Principal) -> None:
    written = run(core, ada, "memory_write", **NOTE)
    assert written == {"id": written["id"], "name": "user_profile", "was_new": True}
    again = run(core, ada, "memory_write", **NOTE | {"body": "Ada works in UTC+3.", "importance": 5})
    assert again == written | {"was_new": False}
    kept = run(core, ada, "memory_write", **NOTE | {"body": "Ada works in UTC+4."})
    assert kept["was_new"] is False
    listed = run(core, ada, "memory_list")
    assert [(row["name"], row["type"], row["description"], row["importance"]) for row in listed["memories"]] == [
        ("user_profile", "user", "Who Ada is", 5)
    ]
    read = run(core, ada, "memory_read", name="user_profile")
    assert (read["id"], read["body"]) == (written["id"], "Ada works in UTC+4.")
    assert [event.event_type for event in core.memories.events(ada, written["id"])] == ["created", "updated", "updated"]
    assert run(core, ada, "memory_delete", name="user_profile")["deleted"] is True
    assert run(core, ada, "memory_list")["memories"] == []
    for name in ("memory_read", "memory_delete"):
        with pytest.raises(NotFound, match="memory_list"):
            run(core, ada, name, name="user_profile")
    assert run(core, ada, "memory_write", **NOTE)["was_new"] is True


def test_note_has_the_shape_that_the_profile_api_gives_it(core: Core, ada: Principal) -> None:
    memory = core.memories.get(ada, run(core, ada, "memory_write", **NOTE)["id"])
    assert (memory.owner.user, memory.owner.agent, memory.session) == ("ada", "default", None)
    assert (memory.category, memory.name, memory.trust) == ("user", "user_profile", "agent")


def test_profiles_of_one_user_are_kept_apart(core: Core, tenant: str) -> None:
    coding, finance = (Principal(tenant, Role.USER, user="ada", agent=agent) for agent in ("coding", "finance"))
    run(core, coding, "memory_write", **NOTE)
    assert run(core, finance, "memory_list")["total"] == 0
    with pytest.raises(NotFound):
        run(core, finance, "memory_read", name="user_profile")
    assert run(core, finance, "memory_write", **NOTE)["was_new"] is True
    run(core, coding, "memory_delete", name="user_profile")
    assert run(core, finance, "memory_list")["total"] == 1


def test_shared_note_is_read_by_every_profile_until_it_writes_its_own(core: Core, tenant: str) -> None:
    admin = Principal(tenant, Role.ADMIN, user="ada")
    core.memories.put(admin, Owner("ada"), "user_profile", {"content": "Shared.", "category": "user"})
    coding = Principal(tenant, Role.USER, user="ada", agent="coding")
    assert run(core, coding, "memory_read", name="user_profile")["body"] == "Shared."
    assert run(core, coding, "memory_write", **NOTE)["was_new"] is True
    assert run(core, coding, "memory_read", name="user_profile")["body"] == NOTE["body"]
    other = Principal(tenant, Role.USER, user="ada", agent="other")
    assert run(core, other, "memory_read", name="user_profile")["body"] == "Shared."


def test_a_retried_write_and_delete_have_one_effect(core: Core, ada: Principal) -> None:
    first = tools.run(core, ada, "memory_write", NOTE | {"idempotency_key": "k1"})
    run(core, ada, "memory_write", **NOTE | {"body": "Newer."})
    again = tools.run(core, ada, "memory_write", NOTE | {"idempotency_key": "k1"})
    assert (again.result, again.replayed) == (first.result, True)
    assert run(core, ada, "memory_read", name="user_profile")["body"] == "Newer."
    gone = run(core, ada, "memory_delete", name="user_profile", idempotency_key="k2")
    assert run(core, ada, "memory_delete", name="user_profile", idempotency_key="k2") == gone
    with pytest.raises(IdempotencyMismatch):
        run(core, ada, "memory_write", **NOTE | {"body": "Other.", "idempotency_key": "k1"})


def test_reader_reads_notes_and_changes_none(core: Core, tenant: str, ada: Principal) -> None:
    run(core, ada, "memory_write", **NOTE)
    reader = Principal(tenant, Role.READER, user="ada")
    assert run(core, reader, "memory_read", name="user_profile")["body"] == NOTE["body"]
    for name, arguments in (("memory_write", NOTE), ("memory_delete", {"name": "user_profile"})):
        with pytest.raises(Forbidden):
            run(core, reader, name, **arguments)
    assert run(core, ada, "memory_read", name="user_profile")["body"] == NOTE["body"]


def test_note_without_its_secrets(core: Core, ada: Principal) -> None:
    for _ in range(2):
        run(core, ada, "memory_write", **NOTE | {"body": f"The key is AKIA{'Q3EGRIZ7X2M4PL5K'}, keep it."})
        assert "AKIA" not in run(core, ada, "memory_read", name="user_profile")["body"]


def test_many_writers_of_one_name_leave_one_note(core: Core, ada: Principal) -> None:
    with ThreadPoolExecutor(8) as threads:
        results = list(
            threads.map(lambda number: run(core, ada, "memory_write", **NOTE | {"body": f"By {number}."}), range(24))
        )
    assert sum(result["was_new"] for result in results) == 1
    assert len({result["id"] for result in results}) == 1
    assert run(core, ada, "memory_list")["total"] == 1


def test_notes_are_listed_by_type_and_page_by_page(core: Core, ada: Principal) -> None:
    for number in range(5):
        type_ = "user" if number % 2 else "feedback"
        run(core, ada, "memory_write", **NOTE | {"name": f"note_{number}", "type": type_, "importance": number})
    names = [row["name"] for row in run(core, ada, "memory_list", type="feedback")["memories"]]
    assert names == ["note_4", "note_2", "note_0"]
    seen, cursor = [], None
    while True:
        page = run(core, ada, "memory_list", limit=2, cursor=cursor)
        seen += [row["name"] for row in page["memories"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"note_{number}" for number in reversed(range(5))]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ARGUMENTS = sorted({name for tool in tools.tools() for name in tool.arguments.model_fields} | {"tenant", "user"})


@hypothesis_settings(max_examples=200)
@given(
    name=st.sampled_from(NAMES),
    arguments=st.dictionaries(st.sampled_from(ARGUMENTS), JSON_VALUES | st.just("any"), max_size=6),
)
def test_whatever_a_model_sends_is_run_or_refused(
    core: Core, ada: Principal, name: str, arguments: dict[str, Any]
) -> None:
    try:
        outcome = tools.run(core, ada, name, arguments)
    except (Invalid, NotFound) as error:
        error.message.encode()
    else:
        json.dumps(outcome.result, allow_nan=False)
