"""The feed of changes, and the candidates of a coding assistant's search."""

import json
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from memorist.context.values import ChunkCandidate, ChunkQuery
from memorist.ids import to_uuid
from memorist.platform.values import Event, FeedPage, FeedPosition, FeedRow, HiddenOwner, Owner
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros

_BEFORE_ALL = (2**62, "~")
_END = 2**62
_ERASED = "erased"


class FeedStatements(TenantStatements):
    __slots__ = ()

    def append_events(self, events: Iterable[Event]) -> None:
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

    def read_feed(self, after: FeedPosition, limit: int) -> FeedPage:
        # The bounds first: whatever commits between the two statements is above them.
        safe, _ = self._feed_bounds()
        rows = self._rows("read_feed", change=after.change, seq=after.seq, limit=limit)
        seen = [_feed_row(row) for row in rows if row[0] < safe]
        return FeedPage(tuple(seen), is_last=len(rows) < limit, has_unsafe=len(seen) < len(rows))

    def feed_head(self) -> FeedPosition:
        safe, _ = self._feed_bounds()
        return self._feed_head(safe)

    def is_feed_foreign(self) -> bool:
        _, unused = self._feed_bounds()
        return self._feed_head(_END).change >= unused

    def restart_feed(self) -> int:
        _, unused = self._feed_bounds()
        return self._run("restart_feed", from_change=unused)

    def _feed_bounds(self) -> tuple[int, int]:
        safe, unused = self._rows("feed_bounds")[0]
        return safe, unused

    def _feed_head(self, below: int) -> FeedPosition:
        rows = self._rows("feed_head", below=below)
        return FeedPosition(*rows[0]) if rows else FeedPosition(0, 0)

    def _note_erasures(self, memory_ids: Sequence[str]) -> None:
        """Leave an event of no memory for each that is about to be erased, which names neither it nor its owner in
        plain text: followers are told, and a search of the files finds nothing.
        """
        salt = secrets.token_hex(8)
        now = time.time_ns() // 1000
        rows = [
            {
                "tenant": self._tenant,
                "memory_id": "",
                "event_type": _ERASED,
                "source": "erasure",
                "actor": None,
                "payload": json.dumps({"id": to_uuid(id_).hex, **_hidden(salt, user, agent)}),
                "created_at": now,
            }
            for id_, user, agent in sorted(self._rows("owners_of", ids=self._encode_list(memory_ids)))
        ]
        self._connection.run_many(self._statements["append_event"], rows)

    def find_chunks(self, query: ChunkQuery, now: datetime, page: int) -> Iterator[list[ChunkCandidate]]:
        place = _BEFORE_ALL
        owner = query.owner
        while True:
            rows = self._rows(
                "find_chunks_of_tenant" if owner.any_user else "find_chunks_of_user",
                user_id=owner.user or "",
                agent_id=None if owner.any_agent else owner.agent or "",
                now=to_micros(now),
                category=query.category,
                project=query.project,
                min_relevance=query.min_relevance,
                pattern=query.pattern,
                after_time=place[0],
                after_id=place[1],
                limit=page,
            )
            if rows:
                yield [ChunkCandidate(*row) for row in rows]
            if len(rows) < page:
                return
            place = (rows[-1][0], rows[-1][1])


def _feed_row(row: tuple[int, int, str, str, int, str | None, str | None, str | None]) -> FeedRow:
    change, seq, memory_id, event_type, created_at, payload, user, agent = row
    position = FeedPosition(change, seq)
    if event_type == _ERASED and payload is not None:
        erased = json.loads(payload)
        hidden = HiddenOwner(erased["salt"], erased["user"], erased["agent"])
        return FeedRow(position, erased["id"], event_type, from_micros(created_at), hidden)
    # Without its memory an event has no owner whom it could be shown to.
    owner = None if user is None else Owner(user or None, agent or None)
    return FeedRow(position, memory_id, event_type, from_micros(created_at), owner)


def _hidden(salt: str, user: str, agent: str) -> dict[str, str]:
    return {"salt": salt, "user": HiddenOwner.hide(salt, user or None), "agent": HiddenOwner.hide(salt, agent or None)}
