"""A backend for Anthropic's memory tool: a tree of files below `/memories`, kept as named memories.

tool = MemoristMemoryTool(Memorist.open("./memories").user("ada"))
client.beta.messages.tool_runner(model=…, tools=[tool], messages=[…])

What the model writes is recalled, listed, versioned and erased like any other memory.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from anthropic.lib.tools import BetaFunctionToolResultType, ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types.beta import BetaMemoryTool20250818Command as Command
from anthropic.types.beta import BetaMemoryTool20250818CreateCommand as CreateCommand
from anthropic.types.beta import BetaMemoryTool20250818DeleteCommand as DeleteCommand
from anthropic.types.beta import BetaMemoryTool20250818InsertCommand as InsertCommand
from anthropic.types.beta import BetaMemoryTool20250818RenameCommand as RenameCommand
from anthropic.types.beta import BetaMemoryTool20250818StrReplaceCommand as StrReplaceCommand
from anthropic.types.beta import BetaMemoryTool20250818ViewCommand as ViewCommand

from memorist.adapters.memory_files import FileProblem, MemoryFiles
from memorist.errors import MemoristError
from memorist.verbs import Verbs


class MemoristMemoryTool(BetaAbstractMemoryTool):
    """The tool over a handle of the library or a `Client`. What cannot be done is told to the model as an error."""

    def __init__(self, memories: Verbs) -> None:
        super().__init__()
        self._files = MemoryFiles(memories)

    def execute(self, command: Command) -> BetaFunctionToolResultType:
        with _told():
            _check_arguments(command)
            return super().execute(command)

    def view(self, command: ViewCommand) -> str:
        return self._files.view(command.path, command.view_range)

    def create(self, command: CreateCommand) -> str:
        return self._files.create(command.path, command.file_text)

    def str_replace(self, command: StrReplaceCommand) -> str:
        return self._files.str_replace(command.path, command.old_str, command.new_str)

    def insert(self, command: InsertCommand) -> str:
        return self._files.insert(command.path, command.insert_line, command.insert_text)

    def delete(self, command: DeleteCommand) -> str:
        return self._files.delete(command.path)

    def rename(self, command: RenameCommand) -> str:
        return self._files.rename(command.old_path, command.new_path)

    def clear_all_memory(self) -> str:
        return self._files.clear()


class AsyncMemoristMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same tool for the asynchronous client: each command runs on a thread."""

    def __init__(self, memories: Verbs) -> None:
        super().__init__()
        self._tool = MemoristMemoryTool(memories)

    async def execute(self, command: Command) -> BetaFunctionToolResultType:
        with _told():
            _check_arguments(command)
            return await super().execute(command)

    async def view(self, command: ViewCommand) -> str:
        return await asyncio.to_thread(self._tool.view, command)

    async def create(self, command: CreateCommand) -> str:
        return await asyncio.to_thread(self._tool.create, command)

    async def str_replace(self, command: StrReplaceCommand) -> str:
        return await asyncio.to_thread(self._tool.str_replace, command)

    async def insert(self, command: InsertCommand) -> str:
        return await asyncio.to_thread(self._tool.insert, command)

    async def delete(self, command: DeleteCommand) -> str:
        return await asyncio.to_thread(self._tool.delete, command)

    async def rename(self, command: RenameCommand) -> str:
        return await asyncio.to_thread(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        return await asyncio.to_thread(self._tool.clear_all_memory)


# What each command needs. The SDK passes on what the model gave, whether it is all there or not.
_NEEDED: dict[str, dict[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str, "new_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
_WORDS = {str: "a string", int: "a whole number"}


def _check_arguments(command: Command) -> None:
    """Raises FileProblem where an argument is missing or of another type."""
    needed = _NEEDED.get(str(getattr(command, "command", None)))
    if needed is None:
        raise FileProblem(f"Error: There is no such command. The commands are {', '.join(_NEEDED)}")
    for name, kind in needed.items():
        value = getattr(command, name, None)
        if value is None:
            raise FileProblem(f"Error: The `{name}` parameter is missing")
        if not _is_a(kind, value):
            raise FileProblem(f"Error: Invalid `{name}` parameter: it must be {_WORDS[kind]}")
    lines = getattr(command, "view_range", None)
    if lines is not None and not (
        isinstance(lines, list) and len(lines) == 2 and all(_is_a(int, one) for one in lines)
    ):
        raise FileProblem("Error: Invalid `view_range` parameter: it must be two line numbers, [first, last]")


def _is_a(kind: type, value: object) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


@contextmanager
def _told() -> Iterator[None]:
    """Tell the model what went wrong, in the words that it knows."""
    try:
        yield
    except FileProblem as problem:
        raise ToolError(str(problem)) from problem
    except MemoristError as error:
        raise ToolError(f"Error: {error.message}") from error
