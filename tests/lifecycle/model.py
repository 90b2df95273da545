"""The oracle of the lifecycle: what is promised of one memory, told again and apart from the code it checks."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

STEP = timedelta(microseconds=1)

ACTIVE, ARCHIVED, SOFT_DELETED, PENDING = "active", "archived", "soft_deleted", "hard_delete_pending"


@dataclass
class Rules:
    """A policy, as days."""

    enforced: bool = False
    active: int = 90
    archive: bool = True
    archived: int = 60
    grace: int = 7
    anonymize: int = 30


@dataclass
class Row:
    """What is expected of one memory."""

    id: str
    text: str
    is_fact: bool
    ages: bool
    created: datetime
    ttl: datetime | None
    key: object
    status: str = ACTIVE
    since: datetime = field(init=False)
    version: datetime = field(init=False)
    archive_at: datetime | None = None
    ends_at: datetime | None = None
    deleted_at: datetime | None = None
    gone_at: datetime | None = None
    replaced_by: str | None = None
    anonymized: bool = False
    events: list[str] = field(default_factory=lambda: ["created"])

    def __post_init__(self) -> None:
        self.since = self.version = self.created

    # Deadlines

    def follow(self, rules: Rules) -> bool:
        """Have the deadlines that the rules give. Returns whether one of them moved."""
        before = (self.archive_at, self.ends_at, self.gone_at)
        if self.status == SOFT_DELETED:
            assert self.deleted_at is not None
            self.gone_at = self.deleted_at + timedelta(days=rules.grace)
        elif self.ages and self.status == ACTIVE:
            end = self.since + timedelta(days=rules.active)
            self.archive_at = end if rules.archive else None
            self.ends_at = end + timedelta(days=rules.archived) if rules.archive else end
        elif self.ages and self.status == ARCHIVED:
            assert self.archive_at is not None
            self.ends_at = self.archive_at + timedelta(days=rules.archived)
        return before != (self.archive_at, self.ends_at, self.gone_at)

    def deadlines(self) -> list[datetime]:
        """Moments at which something may happen to it."""
        moments = [self.ttl, self.archive_at, self.ends_at, self.gone_at]
        return [moment for moment in moments if moment is not None]

    def is_expired(self, now: datetime) -> bool:
        """A TTL ends the time of being active; what ages has another end in the archive."""
        return self.ttl is not None and self.ttl <= now and not (self.status == ARCHIVED and self.ages)

    def is_recalled(self, now: datetime) -> bool:
        return self.status == ACTIVE and not self.is_expired(now)

    def is_due(self, now: datetime) -> bool:
        """Whether the policy moves it in a sweep of that moment; what was moved at that moment waits for the next."""
        if self.status == ACTIVE:
            deadline = self.archive_at or self.ends_at
            return deadline is not None and deadline <= now
        if self.status == ARCHIVED and self.replaced_by:
            return False
        deadline = self.ends_at if self.status == ARCHIVED else self.gone_at
        return deadline is not None and deadline <= now and self.version < now

    def is_anonymizable(self, rules: Rules, now: datetime) -> bool:
        retired = self.status == ARCHIVED and self.replaced_by is not None and not self.anonymized
        return retired and self.version + timedelta(days=rules.anonymize) <= now

    # Steps

    def _step(self, now: datetime, event: str) -> None:
        self.version = max(now, self.version + STEP)
        self.events.append(event)

    def archive(self, rules: Rules, now: datetime, event: str = "archived") -> None:
        self.status = ARCHIVED
        if self.ages:
            self.archive_at = min(self.archive_at or now, self.ttl or now, now)
        self.follow(rules)
        self._step(now, event)

    def delete(self, rules: Rules, now: datetime, event: str = "deleted") -> None:
        self.status, self.deleted_at = SOFT_DELETED, now
        self.follow(rules)
        self._step(now, event)

    def expire(self, rules: Rules, now: datetime) -> None:
        """Leave being active as the policy would have it."""
        if self.status == ACTIVE and self.ages and rules.archive:
            self.archive(rules, now, "expired")
        else:
            self.delete(rules, now, "expired")

    def may_be_restored(self, rules: Rules, now: datetime) -> bool:
        if self.anonymized:
            return False
        if self.status == SOFT_DELETED:
            assert self.gone_at is not None
            return now < self.gone_at
        # One that expired unswept is restored as if a sweep had come by now: never, where there is no time to recover.
        recovers = rules.grace > 0 or (self.ages and rules.archive)
        return self.status == ARCHIVED or (self.status == ACTIVE and self.is_expired(now) and recovers)

    def restore(self, rules: Rules, now: datetime) -> None:
        if self.status == ACTIVE:
            self.expire(rules, now)
        self.status, self.deleted_at, self.gone_at, self.replaced_by, self.since = ACTIVE, None, None, None, now
        if self.is_expired(now):
            self.ttl = None
        self.follow(rules)
        self._step(now, "restored")

    def sweep(self, rules: Rules, now: datetime) -> bool:
        """What a sweep does to it. Returns whether it is still there."""
        if self.status in (ACTIVE, ARCHIVED) and self.is_expired(now):
            self.expire(rules, now)
        elif not rules.enforced:
            pass
        elif self.is_due(now):
            if self.status == PENDING:
                return False
            if self.status == SOFT_DELETED:
                self.status = PENDING
                self._step(now, "hard_delete_pending")
            elif self.status == ACTIVE and self.archive_at is not None:
                self.archive(rules, now)
            else:
                self.delete(rules, now)
        elif self.is_anonymizable(rules, now):
            self.anonymized = True
            self._step(now, "anonymized")
        return True
