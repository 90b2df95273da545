"""The prompt of a turn: what the model is told, within what it can read. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from memorist.models.values import LlmMessage, LlmTool
from memorist.platform.tokens import count_tokens

FULL = 0.8
"""The share of a model's window above which the conversation is shortened."""

TAIL = 4
"""How many messages are kept then."""

_ROLE = "You are a helpful assistant."
_WITH_MEMORY = (
    "You have a long-term memory. What is remembered of the user may stand above. "
    "Call recall before you answer whenever something from earlier conversations may matter."
)
_SHORTENED = "The conversation was trimmed for length: only its last messages are shown."
_REACHABLE = "What was said before is stored and reachable with recall."


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked. `dropped`: how many of the messages were left out for length."""

    system: str
    messages: tuple[LlmMessage, ...]
    tokens: int
    dropped: int = 0


def prompt_for(
    messages: Sequence[LlmMessage],
    memory: str,
    tools: Sequence[LlmTool],
    *,
    window: int,
    reserve: int,
    is_stored: bool = True,
) -> Prompt:
    """What is remembered, the system's part, and the messages; shortened where they fill too much of the window.

    `reserve` tokens are kept free for the answer. Of messages that are stored, and so can be recalled, the last TAIL
    are left then; of others as many as fit.
    """
    told = [one.content for one in messages if one.role == "system"]
    said = [one for one in messages if one.role != "system"]
    role = [f"{_ROLE} {_WITH_MEMORY}" if tools else _ROLE]
    system = "\n\n".join([*([memory] if memory else []), *(told or role)])
    fixed = count_tokens(system) + reserve + sum(count_tokens(f"{one.description} {one.schema}") for one in tools)
    lengths = [count_tokens(one.content) for one in said]
    tokens = fixed + sum(lengths)
    if tokens <= FULL * window or len(said) <= TAIL:
        return Prompt(system, tuple(said), tokens)
    reachable = is_stored and bool(tools)
    notice = f"{_SHORTENED} {_REACHABLE}" if reachable else _SHORTENED
    left = FULL * window - fixed - count_tokens(notice)
    count = TAIL if reachable else _fitting(lengths, left)
    kept = said[-count:]
    if kept[0].role != "user":
        # A conversation begins with the user, or some models refuse it.
        kept = [LlmMessage("user", f"[{notice}]"), *kept]
    system = f"{system}\n\n{notice}"
    tokens = fixed + count_tokens(notice) + sum(count_tokens(one.content) for one in kept)
    return Prompt(system, tuple(kept), tokens, dropped=len(said) - count)


def _fitting(lengths: Sequence[int], most: float) -> int:
    """How many of the last messages fit, TAIL at least."""
    count = TAIL
    while count < len(lengths) and sum(lengths[-count - 1 :]) <= most:
        count += 1
    return count
