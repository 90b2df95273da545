"""The memory tool: the words of its documentation, a tree that nothing escapes, and the SDK's own runner."""

import asyncio
import json
import threading
from typing import Any

import httpx2
import hypothesis
import pytest
from anthropic import Anthropic, DefaultHttpxClient
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool
from hypothesis import strategies as st

from memorist.adapters.anthropic import AsyncMemoristMemoryTool, MemoristMemoryTool
from memorist.adapters.memory_files import FileProblem, MemoryFiles, _name
from memorist.surfaces.library import Handle
from memorist.verbs import Verbs


@pytest.fixture
def tool(memories: Verbs) -> MemoristMemoryTool:
    return MemoristMemoryTool(memories)


def call(tool: BetaAbstractMemoryTool, command: str, **arguments: Any) -> Any:
    return tool.call({"command": command, **arguments})


def refusal(tool: BetaAbstractMemoryTool, command: str, **arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        call(tool, command, **arguments)
    return str(caught.value.content)


def test_tool_is_the_one_that_the_model_knows(tool: MemoristMemoryTool) -> None:
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}


def test_file_is_created_and_viewed(tool: MemoristMemoryTool) -> None:
    created = call(tool, "create", path="/memories/notes.txt", file_text="Hello World\nThis is line two\n")
    assert created == "File created successfully at: /memories/notes.txt"
    assert call(tool, "view", path="/memories/notes.txt") == (
        "Here's the content of /memories/notes.txt with line numbers:\n     1\tHello World\n     2\tThis is line two"
    )
    assert call(tool, "view", path="/memories/notes.txt", view_range=[2, 2]).endswith(":\n     2\tThis is line two")
    assert call(tool, "view", path="/memories/notes.txt", view_range=[2, -1]).endswith(":\n     2\tThis is line two")


SECRET = "AKIA" + "IOSFODNN7EXAMPLE"


def test_path_that_holds_a_secret_is_refused_and_nothing_is_stored(tool: MemoristMemoryTool, memories: Verbs) -> None:
    call(tool, "create", path="/memories/old/notes.txt", file_text="Hello")
    before = call(tool, "view", path="/memories")
    for path in (f"/memories/{SECRET}.txt", f"/memories/{SECRET}/notes.txt"):
        told = refusal(tool, "create", path=path, file_text="Hello again")
        assert "holds a secret" in told
        assert SECRET not in told
    for old, new in (("/memories/old/notes.txt", f"/memories/{SECRET}.txt"), ("/memories/old", f"/memories/{SECRET}")):
        told = refusal(tool, "rename", old_path=old, new_path=new)
        assert "holds a secret" in told
        assert SECRET not in told
    assert call(tool, "view", path="/memories") == before
    assert "Hello" in call(tool, "view", path="/memories/old/notes.txt")
    assert [memory.content for memory in memories.iterate()] == ["Hello"]


@pytest.mark.parametrize("is_shown", [True, False])
def test_file_whose_path_lost_a_secret_long_ago_can_be_deleted(
    tool: MemoristMemoryTool, memories: Verbs, is_shown: bool
) -> None:
    path = f"/memories/{SECRET}.txt"
    stored = memories.remember("Hello", name=_name(path), category="reference", description=path).memory
    assert stored.description != path
    call(tool, "delete", path=stored.description if is_shown else path)
    assert list(memories.iterate()) == []


WRONG_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"command": "view"}, "`path` parameter is missing"),
    ({"command": "view", "path": 5}, "`path` parameter: it must be a string"),
    ({"command": "view", "path": "/memories", "view_range": ["a", 2]}, "`view_range`"),
    ({"command": "view", "path": "/memories", "view_range": [1]}, "`view_range`"),
    ({"command": "create", "path": "/memories/x"}, "`file_text` parameter is missing"),
    ({"command": "create", "file_text": "x"}, "`path` parameter is missing"),
    ({"command": "str_replace", "path": "/memories/x", "old_str": "a"}, "`new_str` parameter is missing"),
    ({"command": "str_replace", "path": "/memories/x", "new_str": "a"}, "`old_str` parameter is missing"),
    ({"command": "insert", "path": "/memories/x", "insert_text": "a"}, "`insert_line` parameter is missing"),
    ({"command": "insert", "path": "/memories/x", "insert_line": "a", "insert_text": "a"}, "it must be a whole number"),
    ({"command": "insert", "path": "/memories/x", "insert_line": 0}, "`insert_text` parameter is missing"),
    ({"command": "delete"}, "`path` parameter is missing"),
    ({"command": "rename", "old_path": "/memories/x"}, "`new_path` parameter is missing"),
    ({"command": "rename", "new_path": "/memories/x"}, "`old_path` parameter is missing"),
    ({"command": "burn", "path": "/memories/x"}, "There is no such command"),
    ({}, "There is no such command"),
]


@pytest.mark.parametrize(("arguments", "says"), WRONG_ARGUMENTS)
def test_wrong_arguments_are_told_to_the_model(handle: Handle, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ToolError) as told:
        MemoristMemoryTool(handle).call(arguments)
    assert says in str(told.value.content)
    with pytest.raises(ToolError) as told:
        asyncio.run(AsyncMemoristMemoryTool(handle).call(arguments))
    assert says in str(told.value.content)


def test_folder_is_listed_two_levels_deep(tool: MemoristMemoryTool) -> None:
    assert call(tool, "view", path="/memories").splitlines()[1:] == ["0\t/memories"]
    files = {
        "a.txt": "x" * 1536, "b/c.txt": "ab", "b/d/e.txt": "abc", ".hidden": "no", "node_modules/x.js": "no",
    }  # fmt: skip
    for path, text in files.items():
        call(tool, "create", path=f"/memories/{path}", file_text=text)
    assert call(tool, "view", path="/memories").splitlines() == [
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:",
        "1.5K\t/memories",
        "1.5K\t/memories/a.txt",
        "5\t/memories/b/",
        "2\t/memories/b/c.txt",
        "3\t/memories/b/d/",
    ]
    assert call(tool, "view", path="/memories/b/").splitlines()[-1] == "3\t/memories/b/d/e.txt"


def test_text_is_replaced_where_it_stands_once(tool: MemoristMemoryTool) -> None:
    path = "/memories/p.txt"
    call(tool, "create", path=path, file_text="one\ntwo\nthree\nfour\nfive\nsix\n")
    assert call(tool, "str_replace", path=path, old_str="three", new_str="3\n3b") == (
        "The memory file has been edited.\n     1\tone\n     2\ttwo\n     3\t3\n     4\t3b\n     5\tfour\n     6\tfive"
    )
    assert refusal(tool, "str_replace", path=path, old_str="nine", new_str="9") == (
        f"No replacement was performed, old_str `nine` did not appear verbatim in {path}."
    )
    call(tool, "create", path="/memories/twice", file_text="a b\nb\n")
    assert refusal(tool, "str_replace", path="/memories/twice", old_str="b", new_str="c") == (
        "No replacement was performed. Multiple occurrences of old_str `b` in lines: 1, 2. Please ensure it is unique"
    )
    for missing in ("/memories/none", "/memories"):
        assert refusal(tool, "str_replace", path=missing, old_str="a", new_str="b") == (
            f"Error: The path {missing} does not exist. Please provide a valid path."
        )


def test_lines_are_inserted(tool: MemoristMemoryTool) -> None:
    path = "/memories/todo.txt"
    call(tool, "create", path=path, file_text="one\nthree\n")
    edited = f"The file {path} has been edited."
    assert call(tool, "insert", path=path, insert_line=1, insert_text="two\n") == edited
    assert call(tool, "insert", path=path, insert_line=0, insert_text="zero") == edited
    assert call(tool, "insert", path=path, insert_line=4, insert_text="four\nfive\n") == edited
    assert call(tool, "view", path=path).splitlines()[1:] == [
        f"     {number}\t{word}" for number, word in enumerate(["zero", "one", "two", "three", "four", "five"], 1)
    ]
    assert refusal(tool, "insert", path=path, insert_line=9, insert_text="x") == (
        "Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 6]"
    )
    assert refusal(tool, "insert", path="/memories/none", insert_line=0, insert_text="x") == (
        "Error: The path /memories/none does not exist"
    )


def test_files_and_folders_are_deleted(tool: MemoristMemoryTool) -> None:
    for path in ("a/b", "a/c/d", "ab"):
        call(tool, "create", path=f"/memories/{path}", file_text="x")
    assert call(tool, "delete", path="/memories/a") == "Successfully deleted /memories/a"
    assert refusal(tool, "delete", path="/memories/a") == "Error: The path /memories/a does not exist"
    assert refusal(tool, "view", path="/memories/a/b") == (
        "The path /memories/a/b does not exist. Please provide a valid path."
    )
    assert "/memories/ab" in call(tool, "view", path="/memories")
    refusal(tool, "delete", path="/memories")
    assert tool.clear_all_memory() == "All memory cleared"
    assert call(tool, "view", path="/memories").splitlines()[1:] == ["0\t/memories"]


def test_files_and_folders_are_renamed(tool: MemoristMemoryTool) -> None:
    for path in ("a/b", "a/c/d", "x"):
        call(tool, "create", path=f"/memories/{path}", file_text=f"I was {path}")
    assert call(tool, "rename", old_path="/memories/a", new_path="/memories/z/y") == (
        "Successfully renamed /memories/a to /memories/z/y"
    )
    assert "I was a/c/d" in call(tool, "view", path="/memories/z/y/c/d")
    assert call(tool, "rename", old_path="/memories/x", new_path="/memories/w").startswith("Successfully")
    for old, new, told in [
        ("/memories/none", "/memories/n", "Error: The path /memories/none does not exist"),
        ("/memories/w", "/memories/z", "Error: The destination /memories/z already exists"),
        ("/memories/w", "/memories/z/y/b", "Error: The destination /memories/z/y/b already exists"),
        ("/memories/z", "/memories/z/y/q/r", "Error: The destination /memories/z/y/q/r is below a file"),
    ]:
        assert refusal(tool, "rename", old_path=old, new_path=new).startswith(told)


def test_nothing_is_created_over_something(tool: MemoristMemoryTool) -> None:
    call(tool, "create", path="/memories/a/b", file_text="x")
    for path in ("/memories/a/b", "/memories/a", "/memories", "/memories/a//b"):
        assert refusal(tool, "create", path=path, file_text="y").startswith("Error: File /memories")
    assert "is a file" in refusal(tool, "create", path="/memories/a/b/c", file_text="y")


@pytest.mark.parametrize(
    "text", ["", "\n", "  \n\t", "(an empty file)", "(an empty file)\n", "no end of line", "猫\r\n"]
)
def test_any_text_comes_back_as_it_was(memories: Verbs, text: str) -> None:
    files = MemoryFiles(memories)
    files.create("/memories/f", text)
    assert files._find("/memories/f").text == text  # type: ignore[union-attr]


OUTSIDE = [
    "/etc/passwd",
    "memories/a",
    "/memories/../etc/passwd",
    "/memories/a/../../b",
    "/memoriesx/a",
    "/memories/%2e%2e/a",
    "/memories/%2E%2E%2Fa",
    "/memories/%252e%252e/a",
    "/memories/..\\a",
    "/memories/a\x00b",
    "/memories/a\nb",
    "",
    "/",
    "/memories/" + "x" * 600,
]


@pytest.mark.parametrize("command", ["view", "create", "delete", "rename"])
def test_nothing_outside_of_the_tree_is_touched(handle: Handle, command: str) -> None:
    tool = MemoristMemoryTool(handle)
    call(tool, "create", path="/memories/a", file_text="x")
    for path in OUTSIDE:
        named = {"old_path": "/memories/a", "new_path": path} if command == "rename" else {"path": path}
        assert refusal(tool, command, file_text="y", **named).startswith("Error: The path")
    assert len(handle.list(named=True).items) == 1


@hypothesis.settings(max_examples=30)
@hypothesis.given(path=st.lists(st.sampled_from(["/", "memories", "..", ".", "a", "%2e", "%2f", "\\"]), max_size=9))
def test_path_is_refused_or_stays_inside(path: list[str]) -> None:
    from memorist.adapters.memory_files import ROOT, _checked

    try:
        checked = _checked("/memories/" + "".join(path))
    except FileProblem:
        return
    assert checked == ROOT or checked.startswith(f"{ROOT}/")
    assert ".." not in checked.split("/")


def test_changes_at_the_same_time_are_all_kept(handle: Handle) -> None:
    files = MemoryFiles(handle)
    files.create("/memories/log", "start\n")
    threads = [threading.Thread(target=files.insert, args=("/memories/log", 1, f"line {n}")) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = files.view("/memories/log")
    assert [f"line {n}" in text for n in range(6)] == [True] * 6


def test_what_the_model_wrote_is_recalled_like_any_memory(tool: MemoristMemoryTool, memories: Verbs) -> None:
    call(tool, "create", path="/memories/customers/acme.md", file_text="Acme pays by invoice within thirty days.")
    (hit, *_) = memories.recall("how does Acme pay?").hits
    assert "invoice" in hit.excerpt
    assert "/memories/customers/acme.md" in memories.section().text


def test_text_that_is_too_long_is_told_to_the_model(tool: MemoristMemoryTool) -> None:
    assert "1000000" in refusal(tool, "create", path="/memories/long", file_text="x" * 1_000_001)


def test_runner_of_the_sdk_drives_the_tool(tool: MemoristMemoryTool) -> None:
    commands: list[dict[str, Any]] = [
        {"command": "create", "path": "/memories/coffee.md", "file_text": "She likes coffee."},
        {"command": "create", "path": "/memories/coffee.md", "file_text": "Again."},
        {"command": "view", "path": "/memories/coffee.md"},
    ]
    results: list[Any] = []

    def answer(request: Any) -> Any:
        last = json.loads(request.content)["messages"][-1]["content"]
        results.extend(last if isinstance(last, list) else [])
        use = (
            {"type": "tool_use", "id": f"t{len(commands)}", "name": "memory", "input": commands.pop(0)}
            if commands
            else None
        )
        content = [use] if use else [{"type": "text", "text": "Noted."}]
        body = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "tool_use" if use else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        return transport.Response(200, json=body)

    transport = _transport_library()
    http = DefaultHttpxClient(transport=transport.MockTransport(answer))
    with Anthropic(api_key="none", base_url="http://model.invalid", http_client=http) as client:
        runner = client.beta.messages.tool_runner(
            model="m", max_tokens=100, tools=[tool], messages=[{"role": "user", "content": "I like coffee."}]
        )
        final = runner.until_done()
    assert final.content[0].text == "Noted."  # type: ignore[union-attr]
    created, again, viewed = results
    assert "File created successfully" in str(created["content"])
    assert again["is_error"] is True
    assert "already exists" in str(again["content"])
    assert "She likes coffee." in str(viewed["content"])


def _transport_library() -> Any:
    """The library that the SDK carries its requests with."""
    return __import__(DefaultHttpxClient.__mro__[1].__module__.split(".")[0]) or httpx2


def test_awaited_tool_does_the_same(memories: Verbs) -> None:
    async def main() -> None:
        tool = AsyncMemoristMemoryTool(memories)
        path = "/memories/a"
        await tool.call({"command": "create", "path": path, "file_text": "one"})
        await tool.call({"command": "insert", "path": path, "insert_line": 1, "insert_text": "two"})
        await tool.call({"command": "str_replace", "path": path, "old_str": "two", "new_str": "2"})
        await tool.call({"command": "rename", "old_path": path, "new_path": "/memories/b"})
        assert "2" in str(await tool.call({"command": "view", "path": "/memories/b"}))
        await tool.call({"command": "delete", "path": "/memories/b"})
        with pytest.raises(ToolError):
            await tool.call({"command": "view", "path": "/memories/b"})

    asyncio.run(main())
