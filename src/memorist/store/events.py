"""The history of memories as rows, and the feed of changes that is read from it."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from memorist.platform.values import (
    ERASED,
    UNTOLD,
    Event,
    FeedPage,
    FeedPosition,
    FeedRow,
    HiddenOwner,
    Owner,
    RedactionNote,
)
from memorist.store.rows import LATEST, event_from_row
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros

_HEXADECIMAL = re.compile(r"[0-9a-f]{32}")
"""How what is erased is named."""


class EventStatements(TenantStatements):
    """The history of one tenant's memories, inside a transaction."""

    __slots__ = ()

    def of(self, memory_ids: Sequence[str]) -> list[Event]:
        rows = self._rows("list_events", ids=self._encode_list(memory_ids))
        return [event_from_row(row) for row in rows]

    def append(self, events: Iterable[Event]) -> None:
        rows = [
            (
                self._tenant,
                event.memory_id,
                event.event_type,
                event.source,
                event.actor,
                json.dumps(event.payload, ensure_ascii=False) if event.payload else "{}",
                to_micros(event.created_at),
            )
            for event in events
        ]
        statement = self._statements["append_event"]
        if len(rows) == 1:
            self._connection.run(statement, rows[0])
        else:
            self._connection.run_many(statement, rows)

    def latest(self, memory_id: str, limit: int) -> list[Event]:
        rows = self._rows("list_latest_events", memory_id=memory_id, limit=limit)
        return [event_from_row(row) for row in rows]

    def redactions(self, before: int | None, limit: int) -> list[RedactionNote]:
        rows = self._rows("list_redactions", before=LATEST if before is None else before, limit=limit)
        return [_note(row) for row in rows]


class FeedStatements(TenantStatements):
    """One tenant's events in the order of their commits, inside a transaction."""

    __slots__ = ()

    def read(self, after: FeedPosition, limit: int) -> FeedPage:
        # The bounds first: whatever commits between the two statements is above them.
        safe, _ = self._feed_bounds()
        rows = self._rows("read_feed", change=after.change, seq=after.seq, limit=limit)
        seen = [_feed_row(row) for row in rows if row[0] < safe]
        return FeedPage(tuple(seen), is_last=len(rows) < limit, has_unsafe=len(seen) < len(rows))

    def back(self, before: FeedPosition, limit: int) -> list[FeedRow]:
        rows = self._rows("read_feed_back", change=before.change, seq=before.seq, limit=limit)
        return [_feed_row(row) for row in rows]

    def last(self, most: int) -> list[FeedRow]:
        return [_feed_row(row) for row in self._rows("list_last_changes", most=most)]

    def head(self) -> FeedPosition:
        safe, _ = self._feed_bounds()
        return self._feed_head(safe)

    def has_given(self, position: FeedPosition) -> bool:
        # An event that cannot be told yet may be all that is left after the position: what was there is erased.
        if position > self._feed_head(LATEST):
            return False
        return position.change == 0 or position.seq > self._feed_head(1).seq

    def foreign_until(self) -> int:
        _, unused = self._feed_bounds()
        if self._feed_head(LATEST).change < unused:
            return 0
        return int(self._rows("last_foreign_event", from_change=unused)[0][0])

    def restart(self, until: int) -> int:
        return self._run("restart_feed", until=until)

    def _feed_bounds(self) -> tuple[int, int]:
        safe, unused = self._rows("feed_bounds")[0]
        return safe, unused

    def _feed_head(self, below: int) -> FeedPosition:
        rows = self._rows("feed_head", below=below)
        return FeedPosition(*rows[0]) if rows else FeedPosition(0, 0)


def _note(row: tuple[Any, ...]) -> RedactionNote:
    seq, memory_id, source, actor, payload, created_at, user, agent, anonymized_at = row
    told = json.loads(payload).get("rules")
    # An import may have brought what no redaction wrote.
    rules = {rule: count for rule, count in told.items() if isinstance(count, int)} if isinstance(told, dict) else {}
    owner = Owner.of_row(user, agent, anonymized=anonymized_at is not None)
    return RedactionNote(seq, memory_id, owner, rules, source, actor, from_micros(created_at))


def _feed_row(row: tuple[Any, ...]) -> FeedRow:
    change, seq, memory_id, event_type, created_at, payload, user, agent, anonymized_at, source, actor, is_entry = row
    position = FeedPosition(change, seq)
    owner: Owner | HiddenOwner | None = None
    if event_type == ERASED:
        told = json.loads(payload or "{}")
        memory_id, owner = _erased(memory_id, told)
        is_entry = bool(told.get(UNTOLD))
    elif user is not None:
        owner = Owner.of_row(user, agent, anonymized=anonymized_at is not None)
    # Without its memory an event has no owner whom it could be shown to.
    return FeedRow(position, memory_id, event_type, from_micros(created_at), owner, source, actor, bool(is_entry))


def _erased(memory_id: str, told: dict[str, Any]) -> tuple[str, HiddenOwner | None]:
    """What is gone, and whose it was: nobody's where the event is none that an erasure wrote, as in the history of a
    memory that an import brought.
    """
    id_, salt, user, agent = (told.get(name) for name in ("id", "salt", "user", "agent"))
    is_whole = all(isinstance(one, str) for one in (id_, salt, user, agent)) and _HEXADECIMAL.fullmatch(str(id_))
    # The first ones were written without the digits.
    if not is_whole or memory_id not in ("", id_):
        return memory_id, None
    return str(id_), HiddenOwner(str(salt), str(user), str(agent))
