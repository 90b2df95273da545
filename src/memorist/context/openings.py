"""What a coding assistant's session begins with: the memory section, and what is known about the project."""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from memorist.context.chunks import MAX_RECENT, Chunks
from memorist.context.section import fenced_chunks, format_section
from memorist.memories.service import Memories
from memorist.memories.values import Memory, Order
from memorist.platform import access
from memorist.platform.tokens import count_tokens
from memorist.platform.values import Principal

_MOST_NAMED = 100
# The notes that an agent keeps come first, but leave room for what was learned in the project.
_SHARE_OF_NAMED = 0.6


class Openings:
    def __init__(self, memories: Memories, chunks: Chunks) -> None:
        self._memories = memories
        self._chunks = chunks

    def text(self, principal: Principal, *, project: str | None, budget_tokens: int) -> str:
        """Both as fenced blocks, within the budget, the most important first; empty where nothing is remembered."""
        page = self._memories.list(access.in_profile(principal), named=True, order=Order.IMPORTANCE, limit=_MOST_NAMED)
        chunks = self._chunks.recent(principal, project=project, limit=MAX_RECENT) if project is not None else []
        room = int(budget_tokens * (_SHARE_OF_NAMED if chunks else 1))
        section = fitting(list(page.items), format_section, room)
        known = fitting(chunks, fenced_chunks, budget_tokens - count_tokens(section))
        return "\n\n".join(filter(None, (section, known)))


def fitting(memories: Sequence[Memory], form: Callable[[list[Memory]], str], budget_tokens: int) -> str:
    """As many of the memories as fit, from the first on, in that form; empty where none does."""
    count = bisect_right(
        range(1, len(memories) + 1), budget_tokens, key=lambda count: count_tokens(form(list(memories[:count])))
    )
    return form(list(memories[:count])) if count else ""
