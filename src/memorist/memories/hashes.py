"""What makes two memories the same: the hash of a text, and the key under which an equal one would be it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from memorist.memories.governance import RULES
from memorist.memories.kinds import KINDS
from memorist.memories.values import Governor, Memory, Retention

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
