"""The prompt of a turn: what the model is told, within what it can read. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from memorist.models.values import LlmMessage, LlmTool
from memorist.platform.tokens import count_tokens

FULL = 0.8
"""The share of a model's window above which the conversation is shortened."""

TAIL = 4
"""How many messages are kept then."""

_ROLE = (
    "You are a helpful assistant with a long-term memory. What is remembered of the user may stand above. "
    "Call recall before you answer whenever something from earlier conversations may matter, and remember_fact when "
    "you learn something lasting."
)
_SHORTENED = (
    "The conversation was trimmed for length: only its last messages are shown. "
    "What was said before is stored and reachable with recall."
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked. `dropped`: how many of the messages were left out for length."""

    system: str
    messages: tuple[LlmMessage, ...]
    tokens: int
    dropped: int = 0


def prompt_for(
    messages: Sequence[LlmMessage], memory: str, tools: Sequence[LlmTool], *, window: int, reserve: int
) -> Prompt:
    """What is remembered, the system's part, and the messages; shortened where they fill too much of the window.

    `reserve` tokens are kept free for the answer.
    """
    told = [one.content for one in messages if one.role == "system"]
    said = [one for one in messages if one.role != "system"]
    system = "\n\n".join([*([memory] if memory else []), *(told or [_ROLE])])
    fixed = count_tokens(system) + reserve + sum(count_tokens(f"{one.description} {one.schema}") for one in tools)
    tokens = fixed + sum(count_tokens(one.content) for one in said)
    if tokens <= FULL * window or len(said) <= TAIL:
        return Prompt(system, tuple(said), tokens)
    kept = said[-TAIL:]
    if kept[0].role != "user":
        # A conversation begins with the user, or some models refuse it.
        kept = [LlmMessage("user", f"[{_SHORTENED}]"), *kept]
    system = f"{system}\n\n{_SHORTENED}"
    tokens = fixed + count_tokens(_SHORTENED) + sum(count_tokens(one.content) for one in kept)
    return Prompt(system, tuple(kept), tokens, dropped=len(said) - TAIL)
