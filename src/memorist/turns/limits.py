"""What a turn may use and take. Apart from `turns`, so that those who take none do not pay for importing it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from memorist.models.values import LlmTool
from memorist.platform.values import Principal


class Toolbox(Protocol):
    """The tools that a model may call during a turn."""

    def offered(self, principal: Principal) -> tuple[LlmTool, ...]: ...

    def run(self, principal: Principal, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the tool returns. Raises MemoristError."""
        ...


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """What a turn may take. A budget of 0 is none."""

    at_once: int = 64
    timeout_s: float = 300.0
    budget_usd: float = 0.0
    context_tokens: int = 0
