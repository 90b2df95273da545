"""A ChatGPT export: the archive, its folder or `conversations.json`, and the memories where there are any.

A conversation is a tree, since questions can be asked anew; what is imported is the branch that was read last.
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from memorist.errors import Invalid
from memorist.importers.chats import CLAUDE_KEY, CONVERSATIONS, session_of, taken
from memorist.importers.files import opened_below
from memorist.importers.items import (
    UNCATEGORISED,
    Found,
    SkippedItem,
    Taken,
    first_sign,
    json_items,
    json_whole,
    time_of,
)
from memorist.importers.recognition import FileSample
from memorist.memories.values import Draft, Trust

_MEMORIES = "memor*.json"
_MEMORY_TEXTS = ("content", "memory", "text")
_SPOKEN = ("user", "assistant")
# The assistant writes to this one what it wants to keep.
_KEEPER = "bio"


def knows(file: FileSample) -> bool:
    """Whether it has conversations, each a tree of messages."""
    return "mapping" in file.keys or (file.has(CONVERSATIONS) and CLAUDE_KEY not in file.keys)


def parse(path: Path) -> Iterator[Found]:
    """A message for each that was said, and a fact for each memory that was kept. Raises Invalid."""
    found = False
    with opened_below(path, CONVERSATIONS) as files:
        for name, source in files:
            found = True
            for number, conversation in json_items(source, name):
                yield from _conversation(conversation, f"{name}, conversation {number}")
    if path.is_dir() or zipfile.is_zipfile(path):
        with opened_below(path, _MEMORIES) as files:
            for name, source in files:
                found = True
                yield from _memories(source, name)
    if not found:
        raise Invalid(f"There is no conversations.json in {path}.", field="path")


def _conversation(conversation: Any, where: str) -> Iterator[Found]:
    mapping = conversation.get("mapping") if isinstance(conversation, dict) else None
    identity = (conversation.get("conversation_id") or conversation.get("id")) if mapping is not None else None
    if not isinstance(mapping, dict) or not isinstance(identity, str):
        yield SkippedItem(where, "It has no id, or no tree of messages.")
        return
    session = session_of("chatgpt", identity)
    title = conversation.get("title")
    branch = list(_branch(mapping, conversation.get("current_node")))
    for number, (key, node) in enumerate(branch, start=1):
        message = node.get("message")
        if isinstance(message, dict):
            # Without an id of its own, a message has that of its node in the tree.
            own = message.get("id")
            yield from _message(
                message, own if isinstance(own, str) else key, session, title, f"{where}, message {number}"
            )
    unread = sum(isinstance(node, dict) and bool(node.get("message")) for node in mapping.values())
    unread -= sum(bool(node.get("message")) for _, node in branch)
    if unread:
        what = "1 message is" if unread == 1 else f"{unread} messages are"
        yield SkippedItem(where, f"{what} on branches that were left.")


def _branch(mapping: dict[str, Any], leaf: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """From the root to the message that was read last; without one, to the last that was written. With their keys."""
    if not isinstance(leaf, str) or leaf not in mapping:
        leaf = max(mapping, key=lambda key: _written(mapping[key]), default=None)
    path: list[tuple[str, dict[str, Any]]] = []
    seen = set()
    # An export that was changed by hand may name anything.
    while isinstance(leaf, str) and leaf not in seen and isinstance(mapping.get(leaf), dict):
        seen.add(leaf)
        path.append((leaf, mapping[leaf]))
        leaf = mapping[leaf].get("parent")
    yield from reversed(path)


def _written(node: Any) -> float:
    message = node.get("message") if isinstance(node, dict) else None
    time = message.get("create_time") if isinstance(message, dict) else None
    return time if isinstance(time, int | float) else 0.0


def _message(message: dict[str, Any], identity: str, session: str, title: Any, where: str) -> Iterator[Found]:
    author: Any = message.get("author")
    role = author.get("role") if isinstance(author, dict) else None
    text = _text(message.get("content"))
    time = time_of(message.get("create_time"))
    if not text.strip():
        if role in _SPOKEN:
            yield SkippedItem(where, "It has no text.")
        return
    if role == "assistant" and message.get("recipient") == _KEEPER:
        yield _fact(text, time, where)
        return
    if role not in _SPOKEN or message.get("recipient", "all") != "all":
        yield SkippedItem(where, "It was not said by the user or the assistant to the other.")
        return
    yield taken("chatgpt", identity, session, title, (role, text, time), where)


def _text(content: Any) -> str:
    """What a message says; pictures and files in it are left out."""
    if not isinstance(content, dict):
        return ""
    if isinstance(content.get("text"), str):
        return str(content["text"])
    parts = content.get("parts")
    texts = [part if isinstance(part, str) else _part(part) for part in parts] if isinstance(parts, list) else []
    return "\n".join(text for text in texts if text.strip())


def _part(part: Any) -> str:
    return part["text"] if isinstance(part, dict) and isinstance(part.get("text"), str) else ""


def _memories(source: TextIO, name: str) -> Iterator[Found]:
    if first_sign(source, name) == "[":
        rows = json_items(source, name)
    else:
        whole = json_whole(source, name)
        listed = whole.get("memories") if isinstance(whole, dict) else None
        rows = enumerate(listed if isinstance(listed, list) else [], start=1)
    for number, row in rows:
        where = f"{name}, memory {number}"
        texts = (
            [row] if isinstance(row, str) else [row.get(key) for key in _MEMORY_TEXTS] if isinstance(row, dict) else []
        )
        text = next((text for text in texts if isinstance(text, str) and text.strip()), None)
        if text is None:
            yield SkippedItem(where, "It has no text.")
        else:
            time = row.get("created_at", row.get("updated_at")) if isinstance(row, dict) else None
            yield _fact(text, time_of(time), where)


def _fact(text: str, time: Any, where: str) -> Taken:
    meta = {"source": "chatgpt"}
    return Taken(Draft(text.strip(), category=UNCATEGORISED, meta=meta, trust=Trust.AGENT, event_time=time), where)
