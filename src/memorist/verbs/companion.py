"""What a companion remembers of the user, through its own door: entries are added and erased, never changed."""

from datetime import datetime
from typing import Any

from memorist.codec import to_record
from memorist.composing.values import Composed
from memorist.context.companion import Category, Finding, Recorded
from memorist.memories.values import Memory, Remembered
from memorist.platform.paging import Page
from memorist.verbs.kinds import Call, Verb, id_part, reading, told, without_none

_ENTRIES = "/v1/memory"


def entries(
    *,
    category: Category | str | None = None,
    after: datetime | None = None,
    before: datetime | None = None,
    include_tested: bool = False,
    limit: int = 20,
    cursor: str | None = None,
) -> Verb[Page[Memory]]:
    """A page of what is remembered of the user, newest first. Raises Forbidden, InvalidField or InvalidCursor."""
    include = "tested_hypothesis" if include_tested else None
    return Verb(
        lambda me: me.core.companion.list(
            me.principal,
            category=category,
            after=after,
            before=before,
            include_tested=include_tested,
            limit=limit,
            cursor=cursor,
        ),
        lambda: reading(
            _ENTRIES,
            Page[Memory],
            **_query(category=category, after=after, before=before, include=include, limit=limit, cursor=cursor),
        ),
    )


def add_entry(
    text: str, category: Category, *, confidence: float = 1.0, idempotency_key: str | None = None
) -> Verb[Remembered]:
    """Write an entry, at most 500 characters, also where the same was written before: what is said last counts.

    Raises InvalidField, Forbidden, IdempotencyMismatch, IdempotencyInFlight or StoreError.
    """
    body = {"text": text, "category": category, "confidence": confidence}
    return Verb(
        lambda me: me.core.companion.add(
            me.writing(), text, category, confidence=confidence, idempotency_key=idempotency_key
        ),
        lambda: Call("POST", _ENTRIES, told(Remembered), body=body, writes=True, idempotency_key=idempotency_key),
    )


def erase_entry(memory_id: str) -> Verb[None]:
    """Remove an entry at once and for good: no tombstone, no undo. Raises NotFound, InvalidId or Forbidden."""
    return Verb(
        lambda me: me.core.companion.erase(me.principal, memory_id),
        lambda: Call("DELETE", f"{_ENTRIES}/{id_part('mem', memory_id)}", lambda _: None),
    )


def record_finding(finding: Finding) -> Verb[Recorded]:
    """Note that a hypothesis was tested, once for each finding; a validated one becomes an insight too.

    Raises Conflict where the finding is known with other values, InvalidField, NotFound (of its turn) or Forbidden.
    """
    return Verb(
        lambda me: me.core.turns.record(me.writing(), finding),
        lambda: Call("POST", "/v1/findings", told(Recorded), body=without_none(**to_record(finding))),
    )


def summary() -> Verb[Composed]:
    """What a turn would be told now: the newest 80 entries, as text, in their fence, and which. Raises Forbidden."""
    return Verb(lambda me: me.core.composer.summary(me.principal), lambda: reading(f"{_ENTRIES}/summary", Composed))


def _query(**query: Any) -> dict[str, Any]:
    return {name: to_record(value) for name, value in query.items()}
