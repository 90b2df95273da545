"""A tenant's retention policy: which is in force, what a change would touch, and giving every row its new deadlines."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from memorist.errors import Conflict, InvalidField
from memorist.memories import lifecycle, writing
from memorist.memories.policy import Derived, Mode, Move, Policy, PolicyRevision, Reach, SweepState, Windows
from memorist.memories.values import Kind, Memory
from memorist.platform import access, acts, validation
from memorist.platform.actors import actor_of
from memorist.platform.acts import ActKind
from memorist.platform.values import Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock, to_iso

MAX_DAYS = 36_500
_BATCH = 500
_HISTORY = 20
_STEP = timedelta(microseconds=1)
_WINDOWS = tuple(field.name for field in fields(Windows))
_USUAL = Policy()
_NEVER_SET = 0
"""The revision of a tenant that has the default policy."""

Counts = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """What a change does, told before it is done: rows whose deadlines move, by kind, and moves that are then due.

    `pending`: some of those rows are still to be given their new deadlines, which the sweeper does first.
    """

    before: Policy
    after: Policy
    revision: int
    dry_run: bool
    touched: dict[str, int]
    due: Counts
    pending: bool = False


class Policies:
    def __init__(self, store: Store, clock: Clock, default: Policy, observation_days: float = 14) -> None:
        """`default` is the policy of tenants that have set none. In its first days every tenant observes."""
        self._store = store
        self._clock = clock
        self._default = default
        self._observation = timedelta(days=observation_days)

    def of(self, tx: Reader) -> Policy:
        """The policy in force, as a transaction sees it."""
        found = tx.policies.get()
        return self._default if found is None else found.policy

    def reach(self, tx: Reader) -> Reach:
        """What the policy in force moves now."""
        return self.in_force(tx).reach(self._clock.now())

    def in_force(self, tx: Reader) -> PolicyRevision:
        found = tx.policies.get() or PolicyRevision(_NEVER_SET, self._default, "default")
        since = tx.policies.observed_from() if found.policy.mode is Mode.AUTO else None
        return found if since is None else replace(found, acts_from=since + self._observation)

    def get(self, principal: Principal) -> PolicyRevision:
        """The policy of the caller's tenant. Raises Forbidden."""
        access.require(principal, access.Action.ADMINISTER)
        return self._store.read(principal.tenant, self.in_force, snapshot=False)

    def history(self, principal: Principal) -> list[PolicyRevision]:
        """The last changes of the policy, newest first: who made them, when, and what it was from then on."""
        access.require(principal, access.Action.ADMINISTER)
        return self._store.read(principal.tenant, lambda tx: tx.policies.history(_HISTORY), snapshot=False)

    def change(
        self,
        principal: Principal,
        changes: Mapping[str, Any],
        *,
        dry_run: bool = False,
        expected_revision: int | None = None,
    ) -> PolicyChange:
        """Change what is named of the policy; the rest stays. With `dry_run` only say what that would touch.

        `expected_revision` is that of the policy on which the change was looked at. Raises Forbidden, InvalidField or,
        where somebody else changed the policy since then or at the same time, Conflict.
        """
        current = self.get(principal)
        if expected_revision not in (None, current.revision):
            raise Conflict("Somebody else changed the policy meanwhile. Preview your change again, then decide.")
        after = changed(current.policy, changes)
        tenant, now = principal.tenant, self._clock.now()
        touched, due = self._counted(tenant, current.policy, after, now) or self._survey(tenant, after, now)
        planned = PolicyChange(current.policy, after, current.revision, dry_run, touched, due)
        if dry_run or after == current.policy:
            return planned
        revision = PolicyRevision(current.revision + 1, after, principal.source, now, actor_of(principal))
        acts.mark(ActKind.POLICY)
        if not self._store.write(tenant, partial(_set, revision)):
            raise Conflict("Somebody else changed the policy at the same time. Look at it, then decide.")
        return replace(planned, revision=revision.revision, pending=not self.recompute(tenant, batches=20))

    def _counted(
        self, tenant: str, before: Policy, after: Policy, now: datetime
    ) -> tuple[dict[str, int], Counts] | None:
        """The same as `_survey` by counting, where no deadline changes: with the mode, or what users may share."""

        def work(tx: Reader) -> tuple[dict[str, int], Counts] | None:
            same = replace(after, mode=before.mode, users_share_documents=before.users_share_documents)
            if same != before or not self.is_settled(tx):
                return None
            due: Counts = {}
            for one in tx.aging.count_due(now, lifecycle.anonymizable_before(after, now)):
                due.setdefault(one.move.value, {})[one.kind.value] = one.count
            return {}, due

        return self._store.read(tenant, work)

    def _survey(self, tenant: str, policy: Policy, now: datetime) -> tuple[dict[str, int], Counts]:
        """How many rows of each kind would get other deadlines, and the moves that would then be due."""
        touched: Counter[str] = Counter()
        due: dict[str, Counter[str]] = {}
        for memory, after in self._aged(tenant, policy):
            touched[memory.kind.value] += _times(memory) != _times(after)
            move = lifecycle.due_move(after, now)
            if move is not None:
                due.setdefault(move.value, Counter())[memory.kind.value] += 1
        before = lifecycle.anonymizable_before(policy, now)
        for one in self._store.read(tenant, lambda tx: tx.aging.count_due(now, before)):
            if one.move is Move.ANONYMIZED:
                due.setdefault(one.move.value, Counter())[one.kind.value] = one.count
        return dict(+touched), {move: dict(counts) for move, counts in due.items()}

    def _aged(self, tenant: str, policy: Policy) -> Iterator[tuple[Memory, Memory]]:
        after_id = ""
        while batch := self._store.read(tenant, partial(_read_batch, policy, after_id)):
            for memory, after, _ in batch:
                yield memory, after
            after_id = batch[-1][0].id

    # Whom a sweep looks at

    def looked_for_before(self, now: datetime) -> datetime:
        """By when a fact was retired that some policy may ask to be anonymized now, of those that do not stay open."""
        days = min(self._default.anonymize_after_days, _USUAL.anonymize_after_days)
        return lifecycle.anonymizable_before(replace(self._default, anonymize_after_days=days), now)

    def stays_open(self, tx: Reader) -> bool:
        """Whether every sweep must look at a tenant: its deadlines are not settled, or its own policy anonymizes sooner
        than is looked for among all."""
        own = tx.policies.get()
        is_soon = own is not None and own.policy.anonymize_after_days < _USUAL.anonymize_after_days
        return is_soon or not self.is_settled(tx)

    # Deadlines after a change

    def is_settled(self, tx: Reader) -> bool:
        """Whether every row has the deadlines of the policy in force."""
        state = tx.aging.get_sweep()
        return state is not None and state.recomputed_after is None and state.revision == self.in_force(tx).revision

    def recompute(self, tenant: str, *, batches: int = 1) -> bool:
        """Give some rows the deadlines of the policy in force, going on where this was left. Returns whether all have.

        What is interrupted goes on with the next call, of whichever process.
        """
        for _ in range(batches):
            if self._store.read(tenant, self.is_settled, snapshot=False):
                return True
            if self._store.write(tenant, self._recompute_some):
                return True
        return False

    def _recompute_some(self, tx: Writer) -> bool:
        state = tx.aging.hold_sweep()
        policy = self.in_force(tx)
        if state is None or state.revision != policy.revision:
            state = replace(state or SweepState(_NEVER_SET, ""), revision=policy.revision, recomputed_after="")
        if state.recomputed_after is None:
            return True
        batch = _read_batch(policy.policy, state.recomputed_after, tx)
        for memory, after, due in batch:
            if _times(memory) != _times(after) or lifecycle.due_at(after) != due:
                # A version later, so that an edit that began before does not bring the old deadlines back.
                writing.set_deadlines(tx, replace(after, updated_at=memory.updated_at + _STEP), memory.updated_at)
        done = len(batch) < _BATCH
        tx.aging.put_sweep(replace(state, recomputed_after=None if done else batch[-1][0].id))
        return done


def may_adopt(tx: Reader) -> bool:
    """Whether a policy may come with rows of another place: nobody has set one, and no row here would get its
    deadlines.
    """
    return tx.policies.get() is None and tx.erasure.count_memories(1) == 0


def adopt(tx: Writer, principal: Principal, policy: Policy, now: datetime) -> None:
    """Set the policy of the place that rows come from, inside a transaction, where it may be."""
    _set(PolicyRevision(_NEVER_SET + 1, policy, principal.source, now, actor_of(principal)), tx)


def ask_for_deadlines(tx: Writer) -> None:
    """Have the sweeper give every row the deadlines of the policy in force, inside a transaction that brings rows of
    another place, whose deadlines were another policy's.
    """
    state = tx.aging.hold_sweep() or SweepState(_NEVER_SET, "")
    if state.recomputed_after is None:
        state = replace(state, recomputed_after="")
    tx.aging.put_sweep(replace(state, is_open=True))


def _set(revision: PolicyRevision, tx: Writer) -> bool:
    """False where that revision exists. The last sweep's report goes: it tells of another policy."""
    state = tx.aging.hold_sweep() or SweepState(_NEVER_SET, "")
    tx.aging.put_sweep(replace(state, report=None, reported_at=None, is_open=True))
    return tx.policies.insert(revision)


def policy_to_record(policy: Policy) -> dict[str, Any]:
    """A policy as plain JSON values: what `change` takes."""
    return {
        "mode": policy.mode,
        **{name: getattr(policy.windows, name) for name in _WINDOWS},
        "kinds": {kind: dict(windows) for kind, windows in policy.kinds.items()},
        "anonymize_after_days": policy.anonymize_after_days,
        "derived_facts": policy.derived_facts,
        "users_share_documents": policy.users_share_documents,
    }


def revision_to_record(revision: PolicyRevision) -> dict[str, Any]:
    return {
        "revision": revision.revision,
        "changed_at": None if revision.created_at is None else to_iso(revision.created_at),
        "changed_by": revision.actor,
        "acts_from": None if revision.acts_from is None else to_iso(revision.acts_from),
        **policy_to_record(revision.policy),
    }


def change_to_record(change: PolicyChange) -> dict[str, Any]:
    return {
        "revision": change.revision,
        "dry_run": change.dry_run,
        "touched": change.touched,
        "due": change.due,
        "pending": change.pending,
        **policy_to_record(change.after),
    }


def changed(policy: Policy, changes: Mapping[str, Any]) -> Policy:
    """The policy with these changes. Raises InvalidField."""
    known = ("mode", "kinds", "anonymize_after_days", "derived_facts", "users_share_documents", *_WINDOWS)
    for name in changes:
        if name not in known:
            raise InvalidField(f"A policy has no {name!r}; it has {', '.join(known)}.", field=str(name)[:60])
    values: dict[str, Any] = {}
    if "mode" in changes:
        values["mode"] = validation.choice("mode", changes["mode"], Mode)
    if "derived_facts" in changes:
        values["derived_facts"] = validation.choice("derived_facts", changes["derived_facts"], Derived)
    if "users_share_documents" in changes:
        values["users_share_documents"] = _switch("users_share_documents", changes["users_share_documents"])
    if "anonymize_after_days" in changes:
        values["anonymize_after_days"] = _days("anonymize_after_days", changes["anonymize_after_days"])
    windows = {name: changes[name] for name in _WINDOWS if name in changes}
    if windows:
        values["windows"] = replace(policy.windows, **_checked(windows, ""))
    if "kinds" in changes:
        values["kinds"] = _kinds(policy.kinds, changes["kinds"])
    return replace(policy, **values)


def _kinds(current: Mapping[Kind, Mapping[str, Any]], changes: Any) -> dict[Kind, Mapping[str, Any]]:
    if not isinstance(changes, Mapping):
        raise InvalidField.of("kinds", "must be an object: a kind, and the windows that differ for it.")
    after = dict(current)
    for name, windows in changes.items():
        kind = validation.choice("kinds", name, Kind)
        if windows is None:
            after.pop(kind, None)
        elif isinstance(windows, Mapping):
            after[kind] = _checked(windows, f"kinds.{kind}.")
        else:
            raise InvalidField.of(f"kinds.{kind}", "must be an object, or null for none.")
    return after


def _checked(windows: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for name, value in windows.items():
        if name not in _WINDOWS:
            raise InvalidField.of(f"{prefix}{name}", f"is no window; there are {', '.join(_WINDOWS)}.")
        checked[name] = _switch(prefix + name, value) if name == "archive" else _days(prefix + name, value)
    return checked


def _switch(field: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidField.of(field, "must be true or false.")
    return value


def _days(field: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not 0 <= value <= MAX_DAYS:
        raise InvalidField.of(field, f"must be a number of days from 0 to {MAX_DAYS}.")
    return float(value) if value % 1 else int(value)


def _read_batch(policy: Policy, after_id: str, tx: Reader) -> list[tuple[Memory, Memory, datetime | None]]:
    """Rows as they are, as the policy would have them, and the `due_at` that is stored."""
    rows = tx.aging.scan(after_id, _BATCH)
    restored = tx.aging.last_restored([memory.id for memory, _ in rows]) if rows else {}
    return [
        (memory, lifecycle.with_deadlines(memory, policy, restored_at=restored.get(memory.id)), due)
        for memory, due in rows
    ]


def _times(memory: Memory) -> tuple[datetime | None, ...]:
    return memory.archive_at, memory.retention_expires_at, memory.hard_delete_at
