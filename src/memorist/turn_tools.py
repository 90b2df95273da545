"""The agent's tools that a model may call during a turn."""

from collections.abc import Mapping
from typing import Any

from memorist import tools
from memorist.core import Core
from memorist.errors import NotFound
from memorist.models.values import LlmTool
from memorist.platform.values import Principal


class MemoryTools:
    """They look things up, within a profile also what that keeps, and write nothing."""

    _NAMES = ("recall", "read_tool_output")
    _OF_PROFILES = ("memory_list", "memory_read")

    def __init__(self, core: Core) -> None:
        self._core = core

    def offered(self, principal: Principal) -> tuple[LlmTool, ...]:
        names = self._names(principal)
        return tuple(LlmTool(name, tools.get(name).description, tools.get(name).input_schema()) for name in names)

    def _names(self, principal: Principal) -> tuple[str, ...]:
        return self._NAMES if principal.agent is None else (*self._NAMES, *self._OF_PROFILES)

    def run(self, principal: Principal, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the tool returns. Raises MemoristError."""
        names = self._names(principal)
        if name not in names:
            raise NotFound(f"There is no tool {name[:60]}; {', '.join(names)} are there.")
        result: Mapping[str, Any] = tools.run(self._core, principal, name, arguments).result
        return result
