"""Long-term memory for LlamaIndex: a block for its `Memory`.

memory = Memory.from_defaults(session_id="chat-1", memory_blocks=[MemoristMemoryBlock(memories=handle)])

Messages that leave the short-term memory are stored; for each question what bears on it is recalled.
"""

import asyncio
import hashlib
import re
from collections.abc import Iterator
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field
from llama_index.core.memory import BaseMemoryBlock

from memorist.adapters.shared import OUT_OF_REACH, in_batches, question_in, storable
from memorist.context.section import fenced_lines
from memorist.errors import InvalidField
from memorist.ingestion.service import Message
from memorist.platform import validation
from memorist.secrets.logs import redacting_logger
from memorist.verbs import Verbs

_SESSION = "session_id"
# Fits into a request, whichever letters they are.
_LONGEST = 250_000
_NO_NAME = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_log = redacting_logger(__name__)


class MemoristMemoryBlock(BaseMemoryBlock[str]):
    """What Memorist recalls for the last message of the user, fenced and marked as data."""

    name: str = Field(default="long_term_memory", description="The name of the block.")
    priority: int = Field(default=1, description="When there is little room, this block goes before the conversation.")
    memories: Any = Field(description="A handle of the library, or a Client.", exclude=True)
    session: str = Field(default="llama-index", description="The session of messages that come without one.")
    top_k: int = Field(default=5, ge=1, le=20, description="How many memories are recalled at most.")

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        said = next((one.content for one in reversed(messages or []) if one.role == MessageRole.USER), None)
        question = question_in(said)
        if not question:
            return ""
        memories: Verbs = self.memories
        try:
            recalled = await asyncio.to_thread(lambda: memories.recall(question, top_k=self.top_k))
        except OUT_OF_REACH as error:
            _log.warning("Nothing is recalled for this question: %s", error)
            return ""
        return fenced_lines(hit.excerpt for hit in recalled.hits) if recalled.hits else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        memories: Verbs = self.memories
        by_session: dict[str, list[Message]] = {}
        for message in messages:
            session = _session(message.additional_kwargs.get(_SESSION) or self.session)
            by_session.setdefault(session, []).extend(_stored(message))
        for session, said in by_session.items():
            for some in in_batches(said):
                await asyncio.to_thread(memories.add_messages, session, some)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out the last memories, a few more than is asked for; None where nothing remains."""
        *head, fence = content.splitlines()
        dropped = 0
        while head and head[-1].startswith("- ") and dropped < tokens_to_truncate:
            # No token is shorter than a character.
            dropped += max(1, len(head.pop()) // 4)
        return "\n".join([*head, fence]) if head and head[-1].startswith("- ") else None


def _stored(message: ChatMessage) -> Iterator[Message]:
    """A message as it is stored, a very long one in pieces. What has no text, as a call of a tool alone, is nothing to
    recall.
    """
    text = storable(message.content or "")
    for start in range(0, len(text), _LONGEST):
        piece = text[start : start + _LONGEST]
        if piece.strip():
            yield Message(message.role.value, piece)


def _session(name: str) -> str:
    """The session of that name. One that is no identifier, as with spaces, is kept apart from others by a hash."""
    try:
        return validation.identifier("session", name)
    except InvalidField:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return f"{_NO_NAME.sub('-', name)[:100]}-{digest}"
