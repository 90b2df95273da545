"""What was said, stored verbatim before anything is made of it, and once, however often it is sent.

Every message has a key that is the same whenever it is sent. A transcript that is sent again, and has grown, adds what
is new. The key is also what the row is deduplicated by, so that two who send it at once store it once. A message that
its sender gave no id is also known by its words, as often as the session has them, by whichever door they came.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from memorist.ingestion.service import Ingestion, Message, message_draft, preview_of
from memorist.learning.extractors.transcripts import Utterance, digest_of, role_of
from memorist.memories.hashes import content_hash, message_key
from memorist.memories.service import Memories
from memorist.memories.values import Kind, Memory, Position, Query, Status
from memorist.platform import access, validation
from memorist.platform.values import Owner, OwnerFilter, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock

_PAGE = 500
_LONG_OUTPUT = 100_000
# A session may have more than a client sends of it: what others said in it, and what was tried again.
_OTHERS = 20
# What is said may be copied from outputs around it, and a session of an agent has thousands.
_MOST_LOOKED_AT = 10_000_000
# Whoever deleted a message does not want it back because a client sends the whole conversation again.
_KNOWN = (Status.ACTIVE, Status.ARCHIVED, Status.SOFT_DELETED)

# The one memory tool whose output is another tool's words.
_READS_OUTPUTS = "read_tool_output"

Promise = Callable[[Writer, Sequence[Memory]], None]
"""Told in the same transaction which messages are new."""


class Sources:
    def __init__(self, store: Store, clock: Clock, memories: Memories, ingestion: Ingestion) -> None:
        self._store = store
        self._clock = clock
        self._memories = memories
        self._ingestion = ingestion

    def add(self, principal: Principal, session: str, said: Sequence[Utterance], promise: Promise) -> list[Memory]:
        """Store what the session does not have yet, all or none of the messages. Returns the messages that are new.

        Raises InvalidField, Forbidden or StoreError.
        """
        validation.identifier("session", session)
        known = self._store.read(principal.tenant, lambda tx: self._keys(tx, principal, session))
        new = self._add(principal, session, [one for one in said if one.key not in known], promise)
        self.index(principal, new)
        return new

    def add_said(
        self, principal: Principal, session: str, said: Sequence[Utterance], *, before: Sequence[Utterance]
    ) -> list[Memory]:
        """Store what is said now, which is new however often it was said before, unless it is the last message and its
        turn failed: then it is sent again. And of what a client sends as said `before`, store what the end of the
        session does not have. Returns the messages that are new: to let them be found by meaning is left to the caller,
        by `index`.

        Raises InvalidField, Forbidden or StoreError.
        """
        validation.identifier("session", session)
        owner = access.writable_owner(principal, None)
        most = 2 * len(before) + _OTHERS
        # No more is read than was sent: a session may be long.
        last, has_failed = self._store.read(principal.tenant, lambda tx: _end_of(tx, owner, session, most))
        known = _keys_of(last)
        fresh = [one for one in before if one.key not in known]
        new = [one for one in said if not (has_failed and _is_same(last[-1], one))]
        return self._add(principal, session, [*fresh, *new], lambda _, __: None)

    def _add(self, principal: Principal, session: str, fresh: Sequence[Utterance], promise: Promise) -> list[Memory]:
        for one in fresh:
            if one.role == "tool":
                self._add_tool_output(principal, session, one)
        prepared = [
            self._prepare(principal, session, number, one)
            for number, one in enumerate(one for one in fresh if one.role != "tool")
        ]

        def work(tx: Writer) -> list[Memory]:
            results = self._memories.rows.insert_all(tx, principal, prepared)
            new = [result.memory for result in results if result.was_new]
            if new:
                promise(tx, new)
            return new

        return self._store.write(principal.tenant, work) if prepared else []

    def index(self, principal: Principal, messages: list[Memory]) -> None:
        """Let messages be found by meaning; where nobody asks for it, it is done later."""
        self._memories.index(principal.tenant, messages)

    def _prepare(self, principal: Principal, session: str, index: int, one: Utterance) -> Memory:
        content = preview_of(one.content, validation.MAX_CONTENT)
        message = Message(one.role, content, one.name, one.time, {"key": one.key})
        memory = self._memories.prepare(principal, message_draft(index, session, message))
        return replace(memory, dedup_key=message_key(session, one.key))

    def _add_tool_output(self, principal: Principal, session: str, one: Utterance) -> None:
        self._ingestion.add_tool_output(
            principal,
            session,
            tool_call_id=one.key,
            tool_name=" ".join((one.name or "tool").split())[: validation.MAX_IDENTIFIER] or "tool",
            content=one.content[: validation.MAX_TOOL_OUTPUT],
            event_time=one.time,
            idempotency_key=f"source-{content_hash(f'{session} {one.key}')}",
        )

    def _keys(self, tx: Reader, principal: Principal, session: str) -> set[str]:
        """The keys of what a session has, whether or not it was deleted."""
        found = _keys_of(self._rows(tx, principal, session, Kind.CHAT_MESSAGE))
        found.update(memory.source_ref or "" for memory in self._rows(tx, principal, session, Kind.TOOL_OUTPUT))
        return found

    def tool_texts(self, tx: Reader, principal: Principal, session: str, around: datetime) -> list[str]:
        """What tools returned in a session, the nearest to a moment first, up to 10 million characters; of very long
        outputs what their memory shows.

        Not what memory tools returned: these repeat the user's own words.
        """
        rows = [
            memory
            for memory in self._rows(tx, principal, session, Kind.TOOL_OUTPUT)
            if not memory.repeats or memory.meta_text("tool_name") == _READS_OUTPUTS
        ]
        found: list[str] = []
        left = _MOST_LOOKED_AT
        for memory in sorted(rows, key=lambda row: abs((row.event_time or row.created_at) - around)):
            found.append((tx.tool_outputs.get(memory.id) if _is_short(memory) else None) or memory.content)
            left -= len(found[-1])
            if left <= 0:
                break
        return found

    def _rows(self, tx: Reader, principal: Principal, session: str, kind: Kind) -> Iterator[Memory]:
        owner = access.writable_owner(principal, None)
        for status in _KNOWN:
            query = Query(
                (OwnerFilter(owner.user, owner.agent),), kind=kind, session=session, status=status, limit=_PAGE
            )
            while page := tx.memories.page(query, self._clock.now()):
                yield from page
                query = replace(query, after=Position(page[-1].created_at, page[-1].id))


def _is_short(memory: Memory) -> bool:
    return (memory.meta_whole("size") or 0) <= _LONG_OUTPUT


def _end_of(tx: Reader, owner: Owner, session: str, most: int) -> tuple[list[Memory], bool]:
    """The last messages of a session, and whether the last of all came with a turn that failed."""
    last = tx.surroundings.last_said(owner, session, most)
    turn_id, is_of_turn, _ = ((last[-1].meta_text("key") if last else None) or "").partition("/")
    turn = tx.turns.get(turn_id) if is_of_turn else None
    return last, turn is not None and turn.status == "failed"


def _is_same(last: Memory, one: Utterance) -> bool:
    """Whether the last message of a session is what is said now."""
    is_there = last.status is not Status.SOFT_DELETED and role_of(last.meta_text("role") or "") == one.role
    return is_there and last.content == preview_of(one.content, validation.MAX_CONTENT)


def _keys_of(messages: Iterable[Memory]) -> set[str]:
    """The keys of messages: their own, and those that `keyed` would give them for their words, whichever their door."""
    found: set[str] = set()
    seen: Counter[str] = Counter()
    for memory in messages:
        found.add(memory.meta_text("key") or "")
        # Not every client names who speaks.
        role = role_of(memory.meta_text("role") or "")
        for digest in {digest_of(role, name, memory.content) for name in (memory.meta_text("speaker"), None)}:
            found.add(f"{digest}-{seen[digest]}")
            seen[digest] += 1
    return found
