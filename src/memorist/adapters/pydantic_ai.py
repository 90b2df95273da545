"""The agent's memory tools as a toolset of Pydantic AI.

agent = Agent(model, toolsets=[MemoristToolset(Memorist.open("./memories").user("ada"))])
"""

import asyncio
from collections.abc import Collection
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from memorist.adapters.shared import OUT_OF_REACH
from memorist.errors import Conflict, Forbidden, Invalid, NotFound
from memorist.secrets.logs import redacting_logger
from memorist.verbs import Verbs

# The tool itself checks its arguments, and says what is wrong in words for a model.
_ANYTHING = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
_log = redacting_logger(__name__)


class MemoristToolset(AbstractToolset[AgentDepsT]):
    """The tools of the registry, run by a handle of the library or by a `Client`; `only` chooses some by name.

    What a model can put right comes back to it as a request to try again, what it may not do as a failure, and so does
    a call while memory is out of reach. Where it is from the beginning, the agent runs without these tools.
    """

    def __init__(
        self,
        memories: Verbs,
        *,
        only: Collection[str] | None = None,
        id: str | None = "memorist",
        max_retries: int = 2,
    ) -> None:
        """Raises NotFound where a name of `only` is none of a tool."""
        self._memories = memories
        self._only = None if only is None else frozenset(only)
        self._id = id
        self._max_retries = max_retries
        self._listed: list[dict[str, Any]] = []

    @property
    def id(self) -> str | None:
        return self._id

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:  # noqa: ARG002
        try:
            self._listed = await asyncio.to_thread(self._memories.tools, "mcp")
        except OUT_OF_REACH as error:
            if not self._listed:
                _log.warning("There are no memory tools for this step: %s", error)
                return {}
        known = {tool["name"]: tool for tool in self._listed}
        missing = (self._only or frozenset()) - known.keys()
        if missing:
            raise NotFound(f"There is no tool {min(missing)!r}. There are {', '.join(known)}.")
        return {name: self._tool(tool) for name, tool in known.items() if self._only is None or name in self._only}

    def _tool(self, tool: dict[str, Any]) -> ToolsetTool[AgentDepsT]:
        definition = ToolDefinition(
            name=tool["name"],
            description=tool["description"],
            parameters_json_schema=tool["inputSchema"],
            # Two writes of one turn keep their order.
            sequential=not tool["annotations"]["readOnlyHint"],
            metadata=tool["annotations"],
        )
        return ToolsetTool(
            toolset=self, tool_def=definition, max_retries=self._max_retries, args_validator=_ANYTHING
        )  # fmt: skip

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentDepsT],  # noqa: ARG002
        tool: ToolsetTool[AgentDepsT],  # noqa: ARG002
    ) -> Any:
        try:
            return await asyncio.to_thread(self._memories.run_tool, name, tool_args)
        except (Invalid, NotFound) as error:
            raise ModelRetry(error.message) from error
        except (Forbidden, Conflict, *OUT_OF_REACH) as error:
            raise ToolFailed(error.message) from error
