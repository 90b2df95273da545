"""A fact replaces another, and the other comes back. Nothing is deleted: what is retired is archived."""

from collections.abc import Mapping, Set
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from memorist.errors import Conflict, DuplicateContent
from memorist.facts.values import Doubt, DoubtStatus
from memorist.ids import new_id, parse_id
from memorist.memories import lifecycle, writing
from memorist.memories.rows import MemoryRows, write_over
from memorist.memories.values import Memory, Status
from memorist.platform import access
from memorist.platform.actors import actor_of, event_by
from memorist.platform.attempts import until_written
from memorist.platform.values import Event, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock

STATED = "stated"
SOURCES = "sources"
"""In the details of a fact that was merged: how often it was stated, and from what it is known."""

REPLACED = "replaced"
"""The event of a fact that was learned provisionally, and gave way to what was learned in its place."""

_MOST_SOURCES = 20
# What happens to a fact by itself.
_OF_ITSELF = frozenset({"created", "redacted", "judged", "superseded", "supersedes", "read_for_user"})


class Superseding:
    def __init__(self, store: Store, clock: Clock, rows: MemoryRows) -> None:
        self._store = store
        self._clock = clock
        self._rows = rows

    def restore(self, principal: Principal, memory_id: str) -> Memory:
        """Make a retired fact active again, beside what replaced it; that pair is not judged again.

        Raises NotFound, Forbidden, Conflict where it was not retired, DuplicateContent or NameTaken where the same text
        or name is active, or IllegalTransition where it is past recovery.
        """
        memory_id = parse_id("mem", memory_id)
        return self._store.write(principal.tenant, partial(self._restore, principal, memory_id))

    def _restore(self, principal: Principal, memory_id: str, tx: Writer) -> Memory:
        def attempt() -> Memory | None:
            before = access.require_visible(principal, tx.memories.get(memory_id), memory_id)
            access.require_changeable(principal, before)
            if before.status is not Status.ARCHIVED or before.superseded_by is None:
                raise Conflict("Nothing took the place of this fact: there is nothing to restore.")
            after = lifecycle.restore(before, self._rows.policy(tx), self._clock.now())
            self._rows.make_room(tx, principal, after)
            if not write_over(tx, after, before.updated_at):
                return None
            newer_id = before.superseded_by
            told = {"superseded_by": newer_id}
            tx.events.append([event_by(principal, after.id, "restored", self._clock.now(), told)])
            newer = tx.memories.get(newer_id)
            if newer is not None:
                self._keep_both(tx, principal, newer, after)
            return after

        return until_written(attempt, what="fact")

    def retire(
        self, tx: Writer, principal: Principal, older: Memory, newer: Memory, details: Mapping[str, Any]
    ) -> bool:
        """Archive a fact that another replaced, inside a transaction. False where it is no longer active."""

        def attempt() -> bool | None:
            now = self._clock.now()
            before = tx.memories.get(older.id)
            if before is None or not before.is_current(now) or before.content_hash != older.content_hash:
                return False
            archived = lifecycle.archive(before, self._rows.policy(tx), now)
            after = replace(archived, superseded_by=newer.id, valid_to=max(_since(newer), _since(before)))
            if not writing.replace(tx, after, before.updated_at):
                return None
            of_older, of_newer = told_to(before, newer, details), told_to(newer, before, details)
            superseded = event_by(principal, before.id, "superseded", now, {"by": newer.id, **of_older})
            supersedes = event_by(principal, newer.id, "supersedes", now, {"id": before.id, **of_newer})
            tx.events.append([superseded, supersedes])
            return True

        return until_written(attempt, what="fact")

    def merge(self, tx: Writer, principal: Principal, older: Memory, newer: Memory, details: Mapping[str, Any]) -> bool:
        """Keep one of two facts that say the same, the newer one, inside a transaction: it counts how often it was
        stated, and names the sources of both. False where one of them is no longer active.
        """

        def attempt() -> bool | None:
            now = self._clock.now()
            kept = tx.memories.get(newer.id)
            if kept is None or not kept.is_current(now) or not self.retire(tx, principal, older, kept, details):
                return False
            merged = replace(kept, meta=_merged_meta(older, kept), updated_at=now)
            return True if writing.replace(tx, merged, kept.updated_at) else None

        return until_written(attempt, what="fact")

    def take_back(self, tx: Writer, principal: Principal, memory_id: str, *, together: Set[str] = frozenset()) -> bool:
        """Delete a fact that something else was learned in place of, inside a transaction: what it had retired is
        active again, and may be judged anew; what goes `together` goes also where one of them retired the other. False
        where it is no longer active, or somebody had a hand in it.
        """

        def attempt() -> bool | None:
            now = self._clock.now()
            before = tx.memories.get(memory_id)
            if before is None or self.is_settled(tx, memory_id):
                return False
            if not before.is_current(now) and (before.status is not Status.ARCHIVED or memory_id not in together):
                return False
            after = lifecycle.soft_delete(before, self._rows.policy(tx), now)
            if not writing.replace(tx, after, before.updated_at):
                return None
            tx.events.append([event_by(principal, memory_id, REPLACED, now, lifecycle.moved_payload(before, after))])
            for older in tx.facts.superseded(memory_id):
                if older.id not in together:
                    self._revive(tx, principal, older)
            return True

        return until_written(attempt, what="fact")

    def is_settled(self, tx: Reader, memory_id: str) -> bool:
        """Whether anybody had a hand in a fact since it was learned: stated, changed, deleted or erased it, brought it
        back, or decided a doubt for it.
        """
        events = tx.events.of([memory_id])
        return (
            tx.memories.get(memory_id) is None
            or any(map(_is_decided, events))
            or any(event.event_type not in _OF_ITSELF for event in events)
        )

    def _revive(self, tx: Writer, principal: Principal, retired: Memory) -> None:
        """Make a retired fact active again, unless nothing is left of it or the same text is active."""
        if retired.status is not Status.ARCHIVED or retired.anonymized_at is not None:
            return
        after = lifecycle.restore(retired, self._rows.policy(tx), self._clock.now())
        try:
            self._rows.make_room(tx, principal, after)
        except DuplicateContent:
            return
        if write_over(tx, after, retired.updated_at):
            told = {"superseded_by": retired.superseded_by}
            tx.events.append([event_by(principal, after.id, "restored", self._clock.now(), told)])

    def _keep_both(self, tx: Writer, principal: Principal, one: Memory, other: Memory) -> None:
        who = actor_of(principal)
        newer, older = newer_first(one, other)
        doubt = self._new_doubt(newer, older, f"Restored by {who}.", who, DoubtStatus.DISMISSED)
        if not insert_doubt(tx, doubt):
            known = doubt_of(tx, newer, older)
            if known is not None:
                tx.facts.settle_doubt(known.id, known.status, DoubtStatus.DISMISSED, self._clock.now())

    def _new_doubt(
        self, newer: Memory, older: Memory, reason: str, judge: str, status: DoubtStatus = DoubtStatus.OPEN
    ) -> Doubt:
        now = self._clock.now()
        return Doubt(new_id("dbt"), older.owner, newer.id, older.id, reason, judge, now, now, status)


def _merged_meta(older: Memory, kept: Memory) -> dict[str, Any]:
    """The details of the one that is kept: what a caller keeps under one of these names stays there."""
    meta = dict(kept.meta or {})
    stated, sources = _noted(kept)
    of_older, sources_of_older = _noted(older)
    if STATED not in meta or stated is not None:
        meta[STATED] = (of_older or 1) + (stated or 1)
    if SOURCES not in meta or sources is not None:
        known = [*(sources_of_older or [older.source_ref or ""]), *(sources or [kept.source_ref or ""])]
        meta[SOURCES] = list(dict.fromkeys(source for source in known if source))[-_MOST_SOURCES:]
    return meta


def _noted(memory: Memory) -> tuple[int | None, tuple[str, ...] | None]:
    """How often a fact was stated and from what it is known, where that was noted when it was merged."""
    stated = memory.meta_whole(STATED)
    return stated if stated is not None and stated > 0 else None, memory.meta_texts(SOURCES)


def _is_decided(event: Event) -> bool:
    """Whether somebody decided a doubt: they stand there in the judge's place, and are not more or less sure. A user
    may be called as a judge is.
    """
    by_actor = event.actor is not None and event.payload.get("judge") == event.actor
    return by_actor and event.event_type != "judged" and "confidence" not in event.payload


def _since(memory: Memory) -> datetime:
    """Since when a fact holds, as far as is known."""
    return memory.valid_from or memory.event_time or memory.created_at


def known_since(memory: Memory) -> datetime:
    """Since when a fact holds as far as its age goes: nothing was said after it was stored, whatever its date says."""
    return min(_since(memory), memory.created_at)


def doubt_of(tx: Reader, one: Memory, other: Memory) -> Doubt | None:
    """What links two facts, whichever was the newer one when they were linked: a date may have misled."""
    return tx.facts.find_doubt(one.id, other.id) or tx.facts.find_doubt(other.id, one.id)


def insert_doubt(tx: Writer, doubt: Doubt) -> bool:
    """Link two facts. False where they are linked, in either order."""
    return tx.facts.find_doubt(doubt.other_id, doubt.fact_id) is None and tx.facts.insert_doubt(doubt)


def age_of(memory: Memory) -> tuple[datetime, str, datetime, str]:
    """Which of two facts is the newer one. No two are equal, so that a chain never turns back on itself."""
    # Messages of one time were stored in their order, and may be read in any.
    said_in = memory.meta_text("message_id") or memory.id
    return known_since(memory), said_in, memory.created_at, memory.id


def newer_first(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    return (one, other) if age_of(one) > age_of(other) else (other, one)


def told_to(memory: Memory, other: Memory, details: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the history of a fact tells of how another one stands to it: the reason, which may quote that one, only
    where whoever sees the fact sees the other.
    """
    if other.owner.agent in (None, memory.owner.agent):
        return details
    return {name: value for name, value in details.items() if name != "reason"}
