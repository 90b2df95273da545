"""The prompt of a turn: what the model is told, within what it can read. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile

from memorist.models.values import LlmMessage, LlmTool
from memorist.platform.tokens import count_tokens

FULL = 0.8
"""The share of a model's window above which the conversation is shortened."""

TAIL = 4
"""How many messages are kept then."""

RESULTS = 0.4
"""The share of a model's window that what its tools return in a turn may take."""

_LONGEST_RESULT = 20_000
_LEFT_OUT = "[Left out for length. Call the tool again where it matters.]"
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


def estimated_tokens(system: str, messages: Sequence[LlmMessage], tools: Sequence[LlmTool]) -> int:
    """What a prompt will take, before any model has counted it."""
    around = count_tokens(system) + sum(count_tokens(f"{one.description} {one.schema}") for one in tools)
    return around + sum(count_tokens(one.content) for one in messages)


def prompt_for(
    messages: Sequence[LlmMessage],
    memory: str,
    tools: Sequence[LlmTool],
    *,
    window: int,
    count: Callable[[int], int] = lambda estimated: estimated,
    is_stored: bool = True,
    exchange: Sequence[LlmMessage] = (),
) -> Prompt:
    """What is remembered, the system's part, and the messages; shortened where they fill too much of the window.

    `exchange` is what came after them: tools that the model called, and what they returned, for which they make room.
    `count` makes of an estimate what the model itself will count. Of messages that are stored, and so can be recalled,
    the last TAIL are left then; of others as many as fit.
    """
    told = [one.content for one in messages if one.role == "system"]
    said = [one for one in messages if one.role != "system"]
    role = [f"{_ROLE} {_WITH_MEMORY}" if tools else _ROLE]
    system = "\n\n".join([*([memory] if memory else []), *(told or role)])
    tokens = count(estimated_tokens(system, [*said, *exchange], tools))
    if tokens <= FULL * window or len(said) <= TAIL:
        return Prompt(system, (*said, *exchange), tokens)
    reachable = is_stored and bool(tools)
    notice = f"{_SHORTENED} {_REACHABLE}" if reachable else _SHORTENED
    system = f"{system}\n\n{notice}"
    around = estimated_tokens(system, exchange, tools)
    left = TAIL if reachable else _fitting(said, lambda tokens: count(around + tokens) <= FULL * window)
    kept = said[-left:]
    if kept[0].role != "user":
        # A conversation begins with the user, or some models refuse it.
        kept = [LlmMessage("user", f"[{notice}]"), *kept]
    shown = (*kept, *exchange)
    return Prompt(system, shown, count(estimated_tokens(system, shown, tools)), dropped=len(said) - left)


def fitting_results(exchange: Sequence[LlmMessage], *, window: int, count: Callable[[int], int]) -> list[LlmMessage]:
    """What the model and its tools said, the oldest results left out until the rest takes no more than its share.

    Those of the last round stay: the model has not seen them yet, and would only ask for them again.
    """
    shown = list(exchange)
    last_round = max((index for index, one in enumerate(shown) if one.role == "assistant"), default=0)
    for index in (index for index, one in enumerate(shown[:last_round]) if one.role == "tool"):
        if count(sum(count_tokens(one.content) for one in shown)) <= RESULTS * window:
            break
        shown[index] = replace(shown[index], content=_LEFT_OUT)
    return shown


def cut_results(results: Sequence[tuple[str, str | None]], *, window: int, count: Callable[[int], int]) -> list[str]:
    """What the tools of a round returned, as far as a model is shown it: together no more than their share, for which
    the longest are cut to one length. With each comes its key, where the rest can be read.
    """
    sizes = [count_tokens(content[:_LONGEST_RESULT]) for content, _ in results]
    room = RESULTS * window * sum(sizes) / max(1, count(sum(sizes)))
    longest = _longest(sizes, room)
    return [_cut(content, key, longest / max(1, size)) for (content, key), size in zip(results, sizes, strict=True)]


def _longest(sizes: Sequence[int], room: float) -> float:
    """The size to which to cut those that are larger, for all to have room."""
    left = room
    for others, size in zip(range(len(sizes), 0, -1), sorted(sizes), strict=True):
        if size > left / others:
            return left / others
        left -= size
    return room


def _cut(content: str, key: str | None, share: float) -> str:
    """As much of it as the share of what is shown at most, with how the rest is read."""
    end = min(_LONGEST_RESULT, round(len(content[:_LONGEST_RESULT]) * share))
    if len(content) <= end:
        return content
    how = "Ask for less." if key is None else f"read_tool_output of {key} reads on at offset {end}."
    return f"{content[:end]}\n[Cut off for length: {len(content) - end} more characters. {how}]"


def _fitting(messages: Sequence[LlmMessage], fits: Callable[[int], bool]) -> int:
    """How many of the last messages fit, TAIL at least."""
    sizes = accumulate(count_tokens(one.content) for one in reversed(messages))
    return max(TAIL, len(list(takewhile(fits, sizes))))
