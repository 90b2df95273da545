"""A `Session` of the OpenAI Agents SDK, whose items are messages of a conversation that Memorist keeps.

session = MemoristSession(Memorist.open("./memories").user("ada"), "chat-1")
await Runner.run(agent, "Hello", session=session)

It takes a handle of the library or a `Client` of a server.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from agents.memory import SessionABC, SessionSettings
from agents.memory.session_settings import resolve_session_limit

from memorist.adapters.shared import in_batches
from memorist.errors import InvalidField, NotFound
from memorist.ingestion.service import Message
from memorist.memories.values import Kind, Memory
from memorist.platform import validation
from memorist.verbs import Verbs

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

_ITEM = "openai_item"
# Stands in the note beside a message whose text is the whole item, which cannot stand in the note.
_IN_CONTENT = "content"
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class MemoristSession(SessionABC):
    """The history of one conversation, in full. What was said is recalled in the user's other conversations too."""

    def __init__(self, memories: Verbs, session_id: str, settings: SessionSettings | None = None) -> None:
        """Raises InvalidField where the id cannot name a session."""
        self.session_id = validation.identifier("session", session_id)
        self.session_settings = settings
        self._memories = memories

    async def get_items(self, limit: int | None = None) -> "list[TResponseInputItem]":
        """The items in their order; with a limit, the latest so many."""
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []
        newest = await asyncio.to_thread(lambda: list(islice(self._newest_first(), most)))
        return [_item(memory) for memory in reversed(newest)]

    async def add_items(self, items: "list[TResponseInputItem]") -> None:
        """Store items after those that are there: up to 1,000 of 500,000 bytes together all or none, more in parts."""
        messages = [_message(cast(dict[str, Any], item)) for item in items]
        for some in in_batches(messages):
            await asyncio.to_thread(self._memories.add_messages, self.session_id, some)

    async def pop_item(self) -> "TResponseInputItem | None":
        """Remove the latest item and return it; None where there is none."""
        memory = await asyncio.to_thread(self._pop)
        return None if memory is None else _item(memory)

    async def clear_session(self) -> None:
        """Remove every item. They can be restored one by one until they are purged."""
        await asyncio.to_thread(self._clear)

    def _newest_first(self) -> Iterator[Memory]:
        return self._memories.iterate(session=self.session_id, kind=Kind.CHAT_MESSAGE)

    def _pop(self) -> Memory | None:
        for memory in self._newest_first():
            try:
                self._memories.forget(memory.id)
            except NotFound:
                continue  # Another one took it at the same time.
            return memory
        return None

    def _clear(self) -> None:
        while self._pop() is not None:
            pass


def _message(item: dict[str, Any]) -> Message:
    """The item as a message: its text is what recall searches, the item itself stands beside it."""
    role = item.get("role") or ("tool" if "output" in item else "assistant")
    # What is no text by itself can be spelled in JSON.
    whole = _SURROGATE.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(item, ensure_ascii=False, allow_nan=False)
    )
    if not _fits_in_note(item):
        return Message(role, whole, meta={_ITEM: _IN_CONTENT})
    text = _text(item)
    return Message(role, text if text.strip() else whole, meta={_ITEM: item})


def _fits_in_note(item: dict[str, Any]) -> bool:
    """Whether it is neither too large nor too deep to stand beside a message, and holds nothing that is no text."""
    # A little of the note's room is for what else stands there.
    room = validation.MAX_META_BYTES - 2_000
    try:
        validation.json_object(_ITEM, {_ITEM: item}, largest=room, deepest=validation.MAX_META_DEPTH)
    except InvalidField:
        return False
    return True


def _item(memory: Memory) -> "TResponseInputItem":
    kept = (memory.meta or {}).get(_ITEM)
    if kept == _IN_CONTENT:
        kept = json.loads(memory.content)
    if not isinstance(kept, dict):
        # A message that came another way.
        kept = {"role": memory.meta_text("role") or "user", "content": memory.content}
    return cast("TResponseInputItem", kept)


def _text(item: dict[str, Any]) -> str:
    """What an item says, of whichever kind: a message, a call of a tool or what it returned."""
    content = item.get("content", item.get("output", item.get("arguments", item.get("summary"))))
    if isinstance(content, str):
        return f"{item['name']}({content})" if "arguments" in item and "name" in item else content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
