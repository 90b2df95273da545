"""Long-term memory for LlamaIndex: a block for its `Memory`.

memory = Memory.from_defaults(session_id="chat-1", memory_blocks=[MemoristMemoryBlock(memories=handle)])

Messages that leave the short-term memory are stored; for each question what bears on it is recalled.
"""

import asyncio
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field
from llama_index.core.memory import BaseMemoryBlock

from memorist.context.section import fenced_lines
from memorist.ingestion.service import Message
from memorist.verbs import Verbs

_SESSION = "session_id"


class MemoristMemoryBlock(BaseMemoryBlock[str]):
    """What Memorist recalls for the last message of the user, fenced and marked as data."""

    name: str = Field(default="long_term_memory", description="The name of the block.")
    priority: int = Field(default=1, description="When there is little room, this block goes before the conversation.")
    memories: Any = Field(description="A handle of the library, or a Client.", exclude=True)
    session: str = Field(default="llama-index", description="The session of messages that come without one.")
    top_k: int = Field(default=5, ge=1, le=20, description="How many memories are recalled at most.")

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        question = next((one.content for one in reversed(messages or []) if one.role == MessageRole.USER), None)
        if not question or not question.strip():
            return ""
        memories: Verbs = self.memories
        recalled = await asyncio.to_thread(lambda: memories.recall(question, top_k=self.top_k))
        return fenced_lines(hit.excerpt for hit in recalled.hits) if recalled.hits else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        memories: Verbs = self.memories
        by_session: dict[str, list[Message]] = {}
        for message in messages:
            # What has no text, as a call of a tool alone, is nothing to recall.
            if message.content and message.content.strip():
                session = message.additional_kwargs.get(_SESSION) or self.session
                by_session.setdefault(session, []).append(Message(message.role.value, message.content))
        for session, said in by_session.items():
            await asyncio.to_thread(memories.add_messages, session, said)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out the last memories, a few more than is asked for; None where nothing remains."""
        *head, fence = content.splitlines()
        dropped = 0
        while head and head[-1].startswith("- ") and dropped < tokens_to_truncate:
            # No token is shorter than a character.
            dropped += max(1, len(head.pop()) // 4)
        return "\n".join([*head, fence]) if head and head[-1].startswith("- ") else None
