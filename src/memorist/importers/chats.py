"""What the exports of chat programs share, and those of claude.ai: `conversations.json`, alone or in an archive."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memorist.errors import InvalidField
from memorist.importers.files import opened_below
from memorist.importers.items import Found, SkippedItem, Taken, json_items, time_of
from memorist.ingestion.service import Message, message_draft

CONVERSATIONS = "conversations*.json"
CLAUDE_KEY = "chat_messages"
"""The field that conversations of claude.ai have, and those of others do not."""

_ROLES = {"human": "user", "assistant": "assistant"}


def session_of(source: str, identity: str) -> str:
    return f"{source}-" + "".join(sign for sign in identity if sign.isalnum() or sign in "-_")[:100]


def taken(
    source: str, identity: str, session: str, title: Any, said: tuple[str, str, datetime | None], where: str
) -> Found:
    """A message of a conversation: its role, text and time."""
    role, text, time = said
    meta = {"source": source} | ({"title": title[:200]} if isinstance(title, str) and title else {})
    try:
        draft = message_draft(0, session, Message(role, text, event_time=time, meta=meta))
    except InvalidField as error:
        return SkippedItem(where, error.message)
    return Taken(replace(draft, source_ref=f"{source}:{identity}"[:500]), where)


def parse_claude(path: Path) -> Iterator[Found]:
    """A message for each that was said to Claude and by it. Raises Invalid."""
    with opened_below(path, CONVERSATIONS) as files:
        for name, source in files:
            for number, conversation in json_items(source, name):
                yield from _conversation(conversation, f"{name}, conversation {number}")


def _conversation(conversation: Any, where: str) -> Iterator[Found]:
    messages = conversation.get(CLAUDE_KEY) if isinstance(conversation, dict) else None
    identity = conversation.get("uuid") if messages is not None else None
    if not isinstance(messages, list) or not isinstance(identity, str):
        yield SkippedItem(where, "It has no id, or no messages.")
        return
    session = session_of("claude", identity)
    for number, message in enumerate(messages, start=1):
        at = f"{where}, message {number}"
        role = _ROLES.get(str(message.get("sender"))) if isinstance(message, dict) else None
        text = _text(message) if role is not None else ""
        if role is None or not text.strip():
            yield SkippedItem(at, "It has no text.")
            continue
        own = message.get("uuid")
        key = own if isinstance(own, str) else f"{identity}:{number}"
        said = (role, text, time_of(message.get("created_at")))
        yield taken("claude", key, session, conversation.get("name"), said, at)


def _text(message: dict[str, Any]) -> str:
    """What a message says; what its tools did and files are left out."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [one.get("text") for one in blocks if isinstance(one, dict) and one.get("type") == "text"]
    whole = "\n".join(text for text in texts if isinstance(text, str))
    return whole if whole.strip() else str(message.get("text") or "")
