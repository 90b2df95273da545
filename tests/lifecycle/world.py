"""Drives a real core and the oracle side by side, and compares them after every step."""

import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st

from memorist.core import Core
from memorist.errors import DuplicateContent, IllegalTransition, MemoristError, NotFound
from memorist.memories import lifecycle, writing
from memorist.memories.sweeper import Sweeper
from memorist.memories.values import Draft, Kind, Memory, Retention, Status
from memorist.platform.values import Event, OwnerFilter, Principal, Role
from memorist.ports import Writer
from memorist.recall.values import Question
from memorist.testing import FrozenClock, new_tenant
from memorist.testing.clocks import START
from tests.lifecycle.model import ACTIVE, ARCHIVED, STEP, Row, Rules

_LETTERS = str.maketrans("0123456789", "ghijklmnop")
EVERYTHING = OwnerFilter(any_user=True, any_agent=True)
OPERATIONS = [
    *["add"] * 6,
    *["advance"] * 6,
    *["sweep"] * 6,
    *["deadline"] * 5,
    *["archive", "delete", "restore"] * 3,
    *["retell", "supersede", "recall", "recall", "policy", "policy", "edit"],
]
Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 20), st.integers(0, 1000)), min_size=30, max_size=30
)


class World:
    """One tenant, and what is expected of it."""

    def __init__(self, core: Core, clock: FrozenClock) -> None:
        clock.advance(START - clock.now())
        self.core = core
        self.clock = clock
        self.tenant = core.identity.create_tenant(new_tenant())[0].id
        self.ada = Principal(self.tenant, Role.USER, "ada")
        self.admin = Principal(self.tenant, Role.ADMIN)
        self.sweeper = Sweeper(core.store, clock, core.policies, core.erasure, rest=lambda _: None)
        self.mode = "auto"
        self.rules = Rules()
        self.rows: dict[str, Row] = {}
        self.purged: list[str] = []
        self.edits = 0

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def run(self, steps: list[Step]) -> None:
        for operation, index, number in steps:
            row = list(self.rows.values())[index % len(self.rows)] if self.rows else None
            if row is None and operation not in ("policy", "sweep", "advance"):
                operation = "add"
            getattr(self, operation)(row, number)
            if operation not in ("advance", "deadline", "recall"):
                self.compare()
        self.recall_everything()
        self.compare_events()

    # Steps

    def add(self, _: Row | None, number: int) -> None:
        kind = Kind.FACT if number % 3 else Kind.CHAT_MESSAGE
        ages = number % 4 != 0
        ttl = timedelta(seconds=1 + number * 3600) if number % 5 == 0 else None
        self._remember(f"kiln {secrets.token_hex(6).translate(_LETTERS)}", kind, ages, ttl)

    def retell(self, row: Row, number: int) -> None:
        kind = Kind.FACT if row.is_fact else Kind.CHAT_MESSAGE
        self._remember(row.text, kind, number % 2 == 0, timedelta(days=number) if number % 3 == 1 else None)

    def _remember(self, text: str, kind: Kind, ages: bool, ttl: timedelta | None) -> None:
        retention = Retention.POLICY if ages else Retention.KEEP
        [result] = self.core.memories.remember(self.ada, [Draft(text, kind, retention=retention, ttl=ttl)])
        expires = None if ttl is None else self.now + ttl
        key = (text, ages, ttl if ages else None)
        same = [row for row in self.rows.values() if row.key == key and row.is_fact and row.status == ACTIVE]
        for row in same if kind is Kind.FACT else []:
            if not row.is_expired(self.now):
                assert (result.memory.id, result.was_new) == (row.id, False)
                self._told_again(row, expires)
                return
            row.expire(self.rules, self.now)
        assert result.was_new
        row = Row(result.memory.id, text, kind is Kind.FACT, ages, self.now, expires, key)
        row.follow(self.rules)
        self.rows[row.id] = row

    def _told_again(self, row: Row, expires: datetime | None) -> None:
        row.events.append("deduplicated")
        before = row.ttl
        if row.ttl is not None and (expires is None or expires > row.ttl):
            row.ttl = expires
        if before != row.ttl:
            row.version = max(self.now, row.version + STEP)

    def edit(self, row: Row, _: int) -> None:
        self.edits += 1
        if self._attempt(row, row.is_recalled(self.now), NotFound, self._edit):
            row._step(self.now, "updated")

    def _edit(self, principal: Principal, memory_id: str) -> None:
        self.core.memories.edit(principal, memory_id, {"importance": self.edits})

    def archive(self, row: Row, _: int) -> None:
        if self._attempt(row, row.is_recalled(self.now), IllegalTransition, self.core.retention.archive):
            row.archive(self.rules, self.now)

    def delete(self, row: Row, _: int) -> None:
        is_over = row.is_expired(self.now)
        # What its TTL puts into the archive is deleted from there, whether or not a sweep has come by.
        is_archived = row.status == ACTIVE and row.ages and self.rules.archive
        allowed = row.status in (ACTIVE, ARCHIVED) and (is_archived or not is_over)
        if self._attempt(row, allowed and not row.anonymized, NotFound, self.core.retention.delete):
            if is_over:
                row.expire(self.rules, self.now)
            row.delete(self.rules, self.now)

    def restore(self, row: Row, number: int) -> None:
        allowed = row.may_be_restored(self.rules, self.now)
        refusal: type[MemoristError] = IllegalTransition
        twins = [one for one in self.rows.values() if one is not row and one.key == row.key and one.status == ACTIVE]
        if allowed and row.is_fact and any(one.is_recalled(self.now) for one in twins):
            allowed, refusal = False, DuplicateContent
        elif allowed and row.is_fact and twins:
            if row.replaced_by is not None and row.status == ARCHIVED:
                return  # What the facts do with a twin past its expiry is theirs to test.
            twins[0].expire(self.rules, self.now)
        who = self.admin if number % 2 else self.ada
        if self._attempt(row, allowed, refusal, lambda _, id_: self.core.retention.restore(who, id_)):
            row.restore(self.rules, self.now)

    def supersede(self, row: Row, number: int) -> None:
        """As `facts.service` retires a fact."""
        current = [one for one in self.rows.values() if one.is_fact and one.is_recalled(self.now) and one is not row]
        if not row.is_fact or not row.is_recalled(self.now) or not current:
            return
        newer = current[number % len(current)]

        def work(tx: Writer) -> None:
            before = tx.memories.get(row.id)
            assert before is not None
            archived = lifecycle.archive(before, self.core.policies.of(tx), self.now)
            assert writing.replace(tx, replace(archived, superseded_by=newer.id, valid_to=self.now), before.updated_at)
            details = {"by": newer.id, "reason": row.text}
            tx.events.append([Event(row.id, "superseded", "test", self.now, "ada", details)])

        self.core.store.write(self.tenant, work)
        row.archive(self.rules, self.now, "superseded")
        row.replaced_by = newer.id

    def advance(self, _: Row | None, number: int) -> None:
        self.clock.advance(timedelta(seconds=(1, 3600, 86_400, 20 * 86_400, 100 * 86_400)[number % 5]))

    def deadline(self, row: Row, number: int) -> None:
        """To a deadline of a row, or to a moment just before it."""
        moments = [one for one in row.deadlines() if one > self.now]
        if moments:
            target = moments[number % len(moments)] - (STEP if number % 3 == 0 else timedelta(0))
            self.clock.advance(max(timedelta(0), target - self.now))

    def policy(self, _: Row | None, number: int) -> None:
        changes: list[dict[str, Any]] = [
            {"mode": "enforce"},
            {"mode": "enforce"},
            {"mode": "observe"},
            {"mode": "auto"},
            {"active_days": number % 50, "mode": "enforce"},
            {"archive": number % 2 == 0},
            {"archive_days": number % 70, "grace_days": number % 11},
            {"anonymize_after_days": number % 40},
        ]
        change = changes[number % len(changes)]
        done = self.core.policies.change(self.admin, change)
        self.mode = change.get("mode", self.mode)
        rules = Rules(
            self._acts(),
            change.get("active_days", self.rules.active),
            change.get("archive", self.rules.archive),
            change.get("archive_days", self.rules.archived),
            change.get("grace_days", self.rules.grace),
            change.get("anonymize_after_days", self.rules.anonymize),
        )
        self.rules = rules
        touched = 0
        for row in self.rows.values():
            if row.follow(rules):
                touched += 1
                row.version += STEP
        assert sum(done.touched.values()) == touched

    def _acts(self) -> bool:
        """Whether the policy moves anything: once it is enforced, or the tenant's first fourteen days are over."""
        return self.mode == "enforce" or (self.mode == "auto" and self.now >= START + timedelta(days=14))

    def sweep(self, _: Row | None, number: int) -> None:
        self.rules = replace(self.rules, enforced=self._acts())
        dry = self.sweeper.dry_run(self.tenant) if number % 3 == 0 else None
        done = self.sweeper.sweep(self.tenant)
        before = {row.id: len(row.events) for row in self.rows.values()}
        gone = [row.id for row in list(self.rows.values()) if not row.sweep(self.rules, self.now)]
        for memory_id in gone:
            del self.rows[memory_id]
        self.purged += gone
        steps = Counter(row.events[-1] for row in self.rows.values() if len(row.events) > before[row.id])
        expected = +Counter({**steps, "purged": len(gone)})
        assert Counter({move: sum(kinds.values()) for move, kinds in done.done.items()}) == expected
        if dry is not None and self.rules.enforced:
            assert dry.due == done.done

    def recall(self, row: Row, _: int) -> None:
        word = row.text.split()[1]
        found = self.core.recall.recall(self.ada, Question(word, top_k=20, min_score=0.05)).hits
        expected = {one.id for one in self.rows.values() if one.text == row.text and one.is_recalled(self.now)}
        # Of those that say the same, one comes back.
        assert {hit.memory.id for hit in found} <= expected
        assert bool(found) == bool(expected)

    def _attempt(
        self, row: Row, allowed: bool, refusal: type[MemoristError], call: Callable[[Principal, str], object]
    ) -> bool:
        """Whether the call was allowed and happened; where it is not, it is refused."""
        if allowed and not row.anonymized:
            call(self.ada, row.id)
            return True
        with pytest.raises(MemoristError if row.anonymized else refusal):
            call(self.ada, row.id)
        return False

    # Comparing

    def compare(self) -> None:
        stored = self.core.store.read(self.tenant, lambda tx: tx.memories.scan(EVERYTHING, "", 100))
        assert {memory.id for memory in stored} == set(self.rows)
        for memory in stored:
            row = self.rows[memory.id]
            assert self._shown(memory) == self._expected(row), f"{memory.id} at {self.now}"

    def _shown(self, memory: Memory) -> tuple[Any, ...]:
        return (
            memory.status, memory.content, memory.owner.user, memory.superseded_by, memory.updated_at,
            memory.archive_at, memory.retention_expires_at, memory.expires_at, memory.deleted_at, memory.hard_delete_at,
        )  # fmt: skip

    def _expected(self, row: Row) -> tuple[Any, ...]:
        text, user = ("[REDACTED]", None) if row.anonymized else (row.text, "ada")
        return (
            Status(row.status), text, user, row.replaced_by, row.version,
            row.archive_at, row.ends_at, row.ttl, row.deleted_at, row.gone_at,
        )  # fmt: skip

    def recall_everything(self) -> None:
        found = self.core.recall.recall(self.ada, Question("kiln", top_k=20, min_score=0)).hits
        assert {hit.memory.id for hit in found} <= {one.id for one in self.rows.values() if one.is_recalled(self.now)}
        listed = {memory.id for memory in self.core.memories.list(self.ada, limit=100).items}
        assert listed == {one.id for one in self.rows.values() if one.is_recalled(self.now)}

    def compare_events(self) -> None:
        """Every step left exactly one event, and those of a purged memory are told to admins without a word of it."""
        events = self.core.store.read(self.tenant, lambda tx: tx.events.of([*self.rows, *self.purged]))
        told: dict[str, list[str]] = {memory_id: [] for memory_id in self.rows}
        for event in events:
            told[event.memory_id].append(event.event_type)
            if self.rows[event.memory_id].anonymized:
                assert "kiln" not in str(event.payload)
        for row in self.rows.values():
            assert [one for one in told[row.id] if one != "doubt_dismissed"] == row.events
        for memory_id in self.purged:
            trail = self.core.memories.events(self.admin, memory_id)
            assert (trail[0].event_type, trail[-1].event_type) == ("created", "purged")
            assert not any(event.actor or "kiln" in str(event.payload) for event in trail)
