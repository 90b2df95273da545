"""What each parser makes of an export, and what it says of one that it cannot read."""

import io
import json
import os
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from memorist.errors import Invalid
from memorist.importers import PARSERS, Source, chatgpt, claude, jsonl, mcp_memory, mem0, recognized
from memorist.importers.items import SkippedItem, Taken, category_of, json_items
from memorist.memories.fields import check_draft
from memorist.memories.values import Draft, Kind, Trust
from tests.importers import exports


def drafts(parse: Callable[[Path], Any], path: Path) -> list[Draft]:
    return [one.draft for one in parse(path) if isinstance(one, Taken)]


def skipped(parse: Callable[[Path], Any], path: Path) -> dict[str, str]:
    return {one.where: one.reason for one in parse(path) if isinstance(one, SkippedItem)}


@pytest.mark.parametrize("shape", ["results", "list", "lines"])
def test_mem0(tmp_path: Path, shape: str) -> None:
    path = exports.mem0(tmp_path / "export.json", shape)
    found = drafts(mem0.parse, path)
    assert [(draft.content, draft.category) for draft in found] == [
        ("Ada prefers green tea.", "preference"),
        ("Ada wants to run a marathon.", "goal"),
        ("Ada works at Acme.", "history"),
        ("Sleep helps her insight.", "history"),
    ]
    assert found[0].event_time == datetime(2026, 2, 1, 18, tzinfo=UTC)
    assert found[0].source_ref == "mem0:m-1"
    assert found[0].trust is Trust.AGENT
    assert found[0].meta is not None
    assert found[0].meta["metadata"] == {"topic": "tea"}
    assert skipped(mem0.parse, path) == {"memory 5": "It has no text."}


def test_relations_of_mem0_become_facts(tmp_path: Path) -> None:
    relations = [
        {"source": "alice", "relationship": "likes_to_ride", "target": "trains"},
        {"source": "alice", "relation": "knows", "destination": "bob"},
        {"source": "alice", "relationship": "likes"},
        "nonsense",
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"results": [{"memory": "Alice is an engineer."}], "relations": relations}))
    found = drafts(mem0.parse, path)
    assert [draft.content for draft in found] == [
        "Alice is an engineer.",
        "alice likes to ride trains.",
        "alice knows bob.",
    ]
    assert found[1].meta == {"source": "mem0", "from": "alice", "relation": "likes_to_ride", "to": "trains"}
    assert found[1].trust is Trust.AGENT
    assert skipped(mem0.parse, path) == {
        "relation 3": "The relation lacks one of source, relationship and target.",
        "relation 4": "It is no object.",
    }
    path.write_text(json.dumps({"relations": relations[:1]}))
    assert [draft.content for draft in drafts(mem0.parse, path)] == ["alice likes to ride trains."]
    path.write_text(json.dumps({"results": [], "relations": {"added": 1}}))
    assert skipped(mem0.parse, path) == {"relations": "They are no list."}


def test_archive_is_known_by_what_it_is(tmp_path: Path) -> None:
    for name in ("lower.zip", "UPPER.ZIP", "none"):
        found = drafts(chatgpt.parse, exports.chatgpt(tmp_path / name, "zip"))
        assert "Ada has a cat." in [draft.content for draft in found]


def test_message_without_an_id_has_that_of_its_place(tmp_path: Path) -> None:
    talk = exports.conversation()
    del talk["mapping"]["u1"]["message"]["id"]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([talk]))
    assert drafts(chatgpt.parse, path)[0].source_ref == "chatgpt:u1"


def test_knowledge_graph(tmp_path: Path) -> None:
    path = exports.graph(tmp_path / "memory.jsonl")
    assert [(draft.content, draft.category) for draft in drafts(mcp_memory.parse, path)] == [
        ("Ada: Speaks Spanish", "history"),
        ("Ada: Likes tea", "history"),
        ("Green tea: Is what Ada drinks", "preference"),
        ("Acme is a company.", "history"),
        ("Ada works at Acme.", "history"),
    ]
    assert skipped(mcp_memory.parse, path) == {
        "line 1, observation 3": "It is no text.",
        "line 5": "The relation lacks one of from, relationType and to.",
        "line 6": "It is neither an entity nor a relation.",
    }


def test_no_line_becomes_an_insight(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    named = ({"category": "Insight"}, {"type": "insights"}, {"category": "tested hypothesis"})
    path.write_text("".join(json.dumps({"content": "Sleep helps."} | one) + "\n" for one in named))
    found = drafts(jsonl.parse, path)
    assert [draft.category for draft in found] == ["history"] * 3
    assert [draft.meta for draft in found] == [{"source": "jsonl", **one} for one in named]


@pytest.mark.parametrize("named", [["x"], {"x": 1}, 7, None])
def test_chatgpt_node_that_is_no_name_is_not_followed(tmp_path: Path, named: Any) -> None:
    path = tmp_path / "conversations.json"
    talk = exports.conversation()
    talk["current_node"] = named
    talk["mapping"]["u3"]["message"]["create_time"] = 10**400
    odd = exports.conversation("c-2")
    odd["mapping"]["u3"]["parent"] = named
    path.write_text(json.dumps([talk, odd, exports.conversation("c-3")]))
    found = Counter(draft.session for draft in drafts(chatgpt.parse, path) if draft.session)
    assert found["chatgpt-c-3"] == found["chatgpt-c-1"] > found["chatgpt-c-2"] > 0


def test_mem0_times_are_read_or_kept(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    times = [1_700_000_000, 1_700_000_000_000, "yesterday", 10**30, None]
    path.write_text(json.dumps([{"id": "1", "memory": "Ada has a cat.", "created_at": time} for time in times]))
    moment = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    found = drafts(mem0.parse, path)
    assert [draft.event_time for draft in found] == [moment, moment, None, None, None]
    kept = [(draft.meta or {}).get("created_at") for draft in found]
    assert kept == [None, None, "yesterday", 10**30, None]


def test_lines_of_ones_own(tmp_path: Path) -> None:
    path = exports.lines(tmp_path / "notes.jsonl")
    assert recognized(path) is Source.JSONL
    found = drafts(jsonl.parse, path)
    assert [(draft.content, draft.category, draft.source_ref) for draft in found] == [
        ("Ada likes tea.", "preference", "jsonl:7"),
        ("Deploy on Fridays.", "feedback", None),
        ("Acme is in Graz.", None, None),
    ]
    assert found[0].event_time == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert found[1].meta == {"source": "jsonl", "tags": ["ops"]}
    assert skipped(jsonl.parse, path) == {
        "line 4": "It has no text, as one of content, text, memory, fact.",
        "line 5": "It is of a conversation: memorist ingest stores those.",
        "line 6": "It is no object.",
    }
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    listed = tmp_path / "notes.json"
    listed.write_text(json.dumps(rows))
    assert recognized(listed) is Source.JSONL
    assert drafts(jsonl.parse, listed) == found


def test_lines_of_ones_own_lose_no_field(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"text": "x", "date": "05/01/2024", "category": "日本", "source": "notebook 7"}\n', "utf-8")
    (found,) = drafts(jsonl.parse, path)
    assert found.meta == {"source": "notebook 7", "date": "05/01/2024", "category": "日本"}


def test_one_object_on_several_lines_is_one_fact(tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    path.write_text(json.dumps({"text": "Ada likes tea.", "tags": ["drinks"]}, indent=2))
    assert recognized(path) is Source.JSONL
    (found,) = drafts(jsonl.parse, path)
    assert (found.content, found.meta) == ("Ada likes tea.", {"source": "jsonl", "tags": ["drinks"]})


@pytest.mark.parametrize("name", ["text", "memory"])
def test_lines_may_begin_with_an_empty_one(tmp_path: Path, name: str) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text("\n \n" + "".join(json.dumps({name: text, "hash": "h"}) + "\n" for text in ("Tea.", "Coffee.")))
    assert recognized(path) is Source.MEM0
    for parse in (mem0.parse, jsonl.parse):
        assert [draft.content for draft in drafts(parse, path)] == ["Tea.", "Coffee."]


@pytest.mark.parametrize("parse", [jsonl.parse, mem0.parse])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"text": "' + 20_000 * b"a" + b'\xff"}\n', "no text in UTF-8"),
        (b'{"text": "a", "rest": ' + 200_000 * b"[" + 200_000 * b"]" + b"}\n", "not JSON"),
    ],
)
def test_first_line_that_cannot_be_read_is_refused(
    tmp_path: Path, parse: Callable[[Path], Any], content: bytes, reason: str
) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_bytes(content)
    with pytest.raises(Invalid, match="no export that is known here"):
        recognized(path)
    with pytest.raises(Invalid, match=reason):
        list(parse(path))


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ('{"memory": "Tea."}\n{"memory": "Coffee."}\n', Source.JSONL),
        ('[{"memory": "Tea.", "date": "2026-01-01"}]', Source.JSONL),
        ('{"memory": "Tea.", "hash": "h1"}\n', Source.MEM0),
        ('[{"memory": "Tea.", "user_id": "ada"}]', Source.MEM0),
        ('{"results": [{"memory": "Tea."}]}', Source.MEM0),
    ],
)
def test_a_bare_memory_is_not_taken_for_one_of_mem0(tmp_path: Path, text: str, source: Source) -> None:
    path = tmp_path / "notes.json"
    path.write_text(text)
    assert recognized(path) is source


def test_claude_folder(tmp_path: Path) -> None:
    path = exports.claude_folder(tmp_path / "memory")
    found = {draft.name: draft for draft in drafts(claude.parse, path)}
    shown = {name: (draft.category, draft.description, draft.content) for name, draft in found.items()}
    assert shown == {
        "no_mocks": ("feedback", "Real databases only", "Never mock."),
        "who_is_ada": ("user", "Ada is an engineer.", "Ada is an engineer."),
        "loose": ("reference", "Deploys", "# Deploys\n\nOn Fridays only."),
        "odd": ("reference", "Odd.", "Odd."),
    }
    assert skipped(claude.parse, path) == {
        "MEMORY.md": "It only lists the other files.",
        "empty.md": "It has no text.",
    }


@pytest.mark.parametrize("style", [">", "|", ">-", "|2+"])
def test_claude_description_on_lines_of_its_own(tmp_path: Path, style: str) -> None:
    file = tmp_path / "a.md"
    head = f"name: mocks\ndescription: {style}\n  Real databases,\n\n  note: never mocks.\nmetadata:\n  type: feedback"
    file.write_text(f"---\n{head}\n---\nNever mock.\n", "utf-8")
    (draft,) = drafts(claude.parse, file)
    assert (draft.name, draft.category) == ("mocks", "feedback")
    assert draft.description == "Real databases, note: never mocks."


@pytest.mark.parametrize("shape", ["folder", "zip"])
def test_claude_files_of_any_name(tmp_path: Path, shape: str) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    for name in ("ONE.MD", "Äpfel.md", "Öpfel.md", "Straße.md", "日本語.md", "中文.md", "中文 notes.md", "---.md"):
        (folder / name).write_text(f"---\ntype: user\n---\n{name}\n", "utf-8")
    expected = {"---.md": "Neither its head nor its file gives it a name in letters or digits."}
    path = folder
    if shape == "zip":
        path = tmp_path / "memory.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for one in folder.iterdir():
                archive.write(one, f"memory/{one.name}")
    else:
        (folder / "link.md").symlink_to(tmp_path / "nowhere.md")
        expected["link.md"] = "It is a link, and those are not followed."
    assert recognized(path) is Source.CLAUDE
    found = {draft.content: check_draft(draft)["name"] for draft in drafts(claude.parse, path)}
    assert skipped(claude.parse, path) == expected
    plain = {name: found.pop(name) for name in ("ONE.MD", "Äpfel.md", "Öpfel.md", "Straße.md")}
    assert list(plain.values()) == ["one", "apfel", "opfel", "strasse"]
    assert sorted(name.rpartition("_")[0] for name in found.values()) == ["memory", "memory", "notes"]
    assert len(set(found.values())) == 3


def test_claude_file_whose_name_is_no_text(tmp_path: Path) -> None:
    for name in (b"\xe6\x97\xa5caf\xe9.md", b"plain.md"):
        (tmp_path / os.fsdecode(name)).write_text("---\ntype: user\n---\nIt rains.\n", "utf-8")
    (tmp_path / os.fsdecode(b"link\xff.md")).symlink_to(tmp_path / "nowhere.md")
    odd, plain = sorted(drafts(claude.parse, tmp_path), key=lambda draft: draft.name == "plain")
    assert odd.source_ref == "claude:日caf\N{REPLACEMENT CHARACTER}.md"
    assert [check_draft(one)["content"] for one in (odd, plain)] == ["It rains.", "It rains."]
    assert list(skipped(claude.parse, tmp_path)) == ["link\N{REPLACEMENT CHARACTER}.md"]


def test_claude_index_with_words_of_its_own_and_a_single_file(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    file.write_text("# Memory\n\n- [A](a.md)\n\nAsk before deploying.\n", "utf-8")
    (draft,) = drafts(claude.parse, file)
    assert draft.name == "memory"
    assert "Ask before deploying." in draft.content
    assert "a.md" not in draft.content


@pytest.mark.parametrize("shape", ["folder", "zip", "file"])
def test_conversations_with_claude_are_not_taken_for_others(tmp_path: Path, shape: str) -> None:
    name = {"folder": "export", "zip": "export.zip", "file": "conversations.json"}[shape]
    path = exports.claude_chats(tmp_path / name, shape)
    assert recognized(path) is Source.CLAUDE
    found = drafts(claude.parse, path)
    assert [(draft.content, (draft.meta or {})["role"], draft.trust) for draft in found] == [
        ("I live in Turin.", "user", Trust.USER),
        ("Noted.", "assistant", Trust.AGENT),
    ]
    assert {(draft.session, draft.kind, (draft.meta or {})["title"]) for draft in found} == {
        ("claude-c-1", Kind.CHAT_MESSAGE, "Home")
    }
    assert [draft.source_ref for draft in found] == ["claude:m-1", "claude:m-2"]
    assert found[0].event_time == datetime(2026, 2, 1, 10, tzinfo=UTC)
    assert skipped(claude.parse, path) == {
        "conversations.json, conversation 1, message 3": "It has no text.",
        "conversations.json, conversation 2": "It has no id, or no messages.",
    }
    assert recognized(exports.chatgpt(tmp_path / f"other-{name}", shape)) is Source.CHATGPT


@pytest.mark.parametrize("shape", ["folder", "zip", "file"])
def test_chatgpt(tmp_path: Path, shape: str) -> None:
    path = exports.chatgpt(
        tmp_path / {"folder": "export", "zip": "export.zip", "file": "conversations.json"}[shape], shape
    )
    found = drafts(chatgpt.parse, path)
    first = [draft for draft in found if draft.session == "chatgpt-c-1"]
    assert [(draft.content, (draft.meta or {})["role"], draft.trust) for draft in first] == [
        ("I live in Turin.", "user", Trust.USER),
        ("Noted.", "assistant", Trust.AGENT),
        ("And where is Ada?", "user", Trust.USER),
    ]
    assert {draft.kind for draft in first} == {Kind.CHAT_MESSAGE}
    assert first[0].source_ref == "chatgpt:msg-u1"
    facts = Counter((draft.content, draft.category) for draft in found if draft.kind is Kind.FACT)
    cat = {} if shape == "file" else {("Ada has a cat.", "history"): 1}
    assert facts == {("Lives in Turin.", "history"): 2, **cat}
    reasons = Counter(skipped(chatgpt.parse, path).values())
    assert reasons["It has no id, or no tree of messages."] == 1
    assert reasons["1 message is on branches that were left."] == 2


def test_conversation_without_a_last_message_or_with_a_circle_is_read(tmp_path: Path) -> None:
    lost = exports.conversation()
    del lost["current_node"]
    circle = exports.conversation("c-2")
    circle["mapping"]["root"]["parent"] = "u3"
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([lost, circle]))
    # Of the first, the branch with the message that was written last; of the second, the one that was read.
    assert len(drafts(chatgpt.parse, path)) == 2 + 4


@pytest.mark.parametrize("source", list(Source))
@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b'[{"memory": "x"', b"\xff\xfe\x00", b'{"a": 1}\n{"b"', b"[1] 2"]
)
def test_file_that_is_no_export_is_refused_or_skipped(tmp_path: Path, source: Source, content: bytes) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(content)
    try:
        found = list(PARSERS[source](path))
    except Invalid as error:
        refused: Invalid | None = error
    else:
        refused = None
        # Claude's folder takes any text; a graph's line may be another thing.
        assert source is Source.CLAUDE or all(isinstance(one, SkippedItem) for one in found)
    assert refused is None or (refused.message and refused.field == "path")


@pytest.mark.parametrize("source", list(Source))
def test_path_that_is_not_there_is_refused(tmp_path: Path, source: Source) -> None:
    with pytest.raises(Invalid):
        list(PARSERS[source](tmp_path / "none"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(Invalid):
        list(PARSERS[source](tmp_path / "empty"))


@pytest.mark.parametrize("name", ["insight", "Insights", None, 7, [], ["insight", "x"], {"a": 1}, "tested_hypothesis"])
def test_what_cannot_be_categorised_is_history(name: object) -> None:
    assert category_of(name) == "history"


@hypothesis.given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    )
)
@hypothesis.settings(max_examples=60)
def test_no_value_breaks_a_parser_or_becomes_an_insight(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.mktemp("any") / "conversations.json"
    entity = {"type": "entity", "name": value, "entityType": value, "observations": value}
    tree = {"id": "x", "mapping": {"a": value, "b": {"message": {"author": value, "content": value}, "parent": value}}}
    rows = [value, {"memory": value, "categories": value, "metadata": value, "id": value}, entity, tree]
    path.write_text(json.dumps(rows))
    found = [*mem0.parse(path), *chatgpt.parse(path)]
    path.write_text("\n".join(map(json.dumps, rows)))
    found += list(mcp_memory.parse(path))
    assert all(one.draft.category != "insight" for one in found if isinstance(one, Taken))


@hypothesis.given(st.lists(st.recursive(st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=5)))
def test_list_read_piece_by_piece_is_the_list(values: list[Any]) -> None:
    text = json.dumps(values, indent=1)

    class Slow(io.StringIO):
        def read(self, _: int | None = None) -> str:
            return super().read(3)

    assert [value for _, value in json_items(Slow(text), "x")] == values


def test_large_export_is_never_whole_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    one = exports.conversation()
    one["mapping"]["u1"]["message"]["content"]["parts"] = ["word " * 20_000]
    text = json.dumps(one)
    with path.open("w") as file:
        file.write("[" + ",".join([text] * 300) + "]")
    tracemalloc.start()
    count = sum(1 for _ in chatgpt.parse(path))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count > 300
    assert most < path.stat().st_size / 2


def test_drafts_can_be_stored(tmp_path: Path) -> None:
    made = {
        Source.MEM0: exports.mem0(tmp_path / "a.json"),
        Source.MCP_MEMORY: exports.graph(tmp_path / "b.jsonl"),
        Source.CLAUDE: exports.claude_folder(tmp_path / "c"),
        Source.CHATGPT: exports.chatgpt(tmp_path / "d"),
        Source.JSONL: exports.lines(tmp_path / "e.jsonl"),
    }
    for source, path in made.items():
        found = drafts(PARSERS[source], path)
        assert found
        for draft in found:
            check_draft(draft)
