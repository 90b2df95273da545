"""What makes two memories the same: the hash of a text, and the key under which an equal one would be it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from memorist.memories.governance import RULES
from memorist.memories.kinds import KINDS
from memorist.memories.values import Governor, Kind, Memory, Retention

_WHAT_COUNTS = ("kind", "category", "name", "session", "project", "content", "retention", "meta", "governed_by")


def content_hash(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def dedup_key(
    memory_id: str, values: Mapping[str, Any], same_as: str | None = None, ttl: timedelta | None = None
) -> str:
    """The same for equal texts of one owner, scope and category; a memory's own where nothing can equal it.

    Of what ages, only those are the same that were given the same time to live and the same metadata.
    """
    kind, category = values["kind"], values["category"] or ""
    if same_as == "" or not KINDS[kind].is_merged or values["name"] is not None:
        return memory_id
    # None of them can hold a NUL, so no two lists of parts give the same text.
    if same_as is not None:
        parts = [kind, category, "", "", "", same_as]
    else:
        parts = [kind, category, values["session"] or "", values["project"] or "", values["content"]]
        if values["retention"] is Retention.POLICY:
            parts += ["ages", str(ttl or ""), json.dumps(values["meta"], sort_keys=True)]
    key = content_hash("\0".join(parts))
    door = values["governed_by"] or Governor.NATIVE
    # What one door keeps is not another's to change by saying the same.
    return key if RULES[door].is_one_set else f"{door}:{key}"


def with_hashes(memory: Memory, before: Memory | None = None) -> Memory:
    """The memory with the hashes that belong to its text; after an edit, where nothing changed that counts for them,
    with those that it had.
    """
    values = {name: getattr(memory, name) for name in _WHAT_COUNTS}
    if before is not None and values == {name: getattr(before, name) for name in _WHAT_COUNTS}:
        return memory
    ttl = None if memory.expires_at is None else memory.expires_at - memory.created_at
    return replace(memory, content_hash=content_hash(memory.content), dedup_key=dedup_key(memory.id, values, ttl=ttl))


def with_own_hashes(memory: Memory) -> Memory:
    """A memory that comes from a file, with the hashes that belong to what it says.

    Its key is never believed, but kept where it is one that its door gives to what it is: an entry that stands for
    itself, a finding, or a message of a source.
    """
    honest = with_hashes(memory)
    return replace(honest, dedup_key=memory.dedup_key) if memory.dedup_key in _keys_of(honest) else honest


def _keys_of(memory: Memory) -> set[str]:
    key = memory.meta_text("key")
    if memory.kind is Kind.CHAT_MESSAGE and memory.session is not None and key is not None:
        return {message_key(memory.session, key)}
    if memory.governed_by is not Governor.COMPANION:
        return set()
    values = {name: getattr(memory, name) for name in _WHAT_COUNTS}
    finding_id = memory.meta_text("finding_id")
    found = set() if finding_id is None else {dedup_key(memory.id, values, finding_key(finding_id))}
    return found | {memory.id}


def finding_key(finding_id: str) -> str:
    """What makes two records of a finding the same, whatever their texts."""
    return f"finding {finding_id}"


def message_key(session: str, key: str) -> str:
    """What makes two messages of a source the same."""
    return content_hash(f"message\0{session}\0{key}")
