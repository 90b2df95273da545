"""What makes two memories the same: the hash of a text, and the key under which an equal one would be it."""

import hashlib

from memorist.memories.kinds import KINDS
from memorist.memories.values import Draft, Memory


def content_hash(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def dedup_key(text: Draft | Memory, memory_id: str, session: str | None) -> str:
    """The same for equal texts of one owner, scope and category; a memory's own where nothing can equal it."""
    if not KINDS[text.kind].is_merged or text.name is not None:
        return memory_id
    same_as = text.same_as if isinstance(text, Draft) else None
    if same_as is not None:
        return content_hash("\0".join([text.kind, text.category or "", "", "", "", same_as])) if same_as else memory_id
    # None of them can hold a NUL, so no two lists of parts give the same text.
    return content_hash("\0".join([text.kind, text.category or "", session or "", text.project or "", text.content]))
