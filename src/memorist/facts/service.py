"""Facts that stay true: each new one is judged against those nearest to it, and what it contradicts is retired.

The fact is durable before anybody judges it, and judging is a job, so that it is not lost. Nothing is deleted: what is
retired is archived with what took its place and until when it held, and `restore` brings it back. Which of two facts
is the newer one is decided by when they hold, not by when they were judged, so that no chain turns back on itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, Protocol

from memorist.errors import Conflict, DuplicateContent, InvalidField, NotFound
from memorist.facts import judging
from memorist.facts.port import Judge
from memorist.facts.values import (
    Doubt,
    DoubtPage,
    DoubtStatus,
    FactVersion,
    InDoubt,
    Ruling,
    Supersession,
    SupersessionPage,
    Verdict,
)
from memorist.ids import new_id, parse_id
from memorist.memories import lifecycle, writing
from memorist.memories.policy import Policy
from memorist.memories.service import Memories
from memorist.memories.values import Draft, Kind, Memory, Remembered, Status, Trust
from memorist.platform import access, validation
from memorist.platform.jobs import Jobs, Result
from memorist.platform.paging import decode_id_cursor, decode_place_cursor, encode_id_cursor, encode_place_cursor
from memorist.platform.values import Event, Job, Owner, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock

JUDGING = "judge"
"""The kind of the jobs that judge a fact."""

_INLINE = 8
"""Facts written at once that a local judge looks at before the write returns; more are left to the background."""
_MOST_NEAR = 500
"""Facts that are looked through for those that claim something of the same subject."""
_MOST_JUDGED = 100
_ATTEMPTS = 10
_LONGEST_CHAIN = 500
_CURSOR = "doubts"
_RETIRED_CURSOR = "retired facts"
_STEPS = (
    "created", "judged", "superseded", "supersedes", "restored", "doubt_dismissed", "doubt_reopened", "updated",
    "deleted",
)  # fmt: skip


class FactScope(StrEnum):
    """Whom a fact is about, and so where it comes back: in any session of the user, or of the agent."""

    USER = "user"
    AGENT = "agent"


class Nearest(Protocol):
    """The active facts of the same owner that lie nearest to one (`Recall.nearest_facts`)."""

    def __call__(self, memory: Memory, *, most: int, distance: float) -> list[Memory]: ...


@dataclass(frozen=True, slots=True)
class _Finding:
    """What a judge said of a fact and another one, as that one was then."""

    other: Memory
    verdict: Verdict


class Facts:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        memories: Memories,
        jobs: Jobs,
        judge: Callable[[], Judge | None],
        nearest: Nearest,
        *,
        top_k: int,
        threshold: float,
    ) -> None:
        """Each fact is judged against others within the distance `threshold`; without a judge, none is.

        A judge that is not local is asked about `top_k` of them, and about as many more while it finds contradictions.
        """
        self._store = store
        self._clock = clock
        self._memories = memories
        self._jobs = jobs
        self._judge = judge
        self._nearest = nearest
        self._top_k = top_k
        self._threshold = threshold

    # Writing

    def remember(
        self,
        principal: Principal,
        content: str,
        scope: FactScope = FactScope.USER,
        *,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Store a fact about the user, or of the agent, and retire what it contradicts.

        The same content in the same scope is written once. Raises InvalidField, Forbidden, IdempotencyMismatch,
        IdempotencyInFlight or StoreError; what goes wrong with judging is a job's matter, never the caller's.
        """
        scope = validation.choice("scope", scope, FactScope)
        draft = Draft(content, trust=Trust.AGENT, owner=_owner_of(principal, scope))
        # A fact outlives its session: the same one, stated in another session, is the same fact.
        principal = replace(principal, session=None)
        return self.remember_all(principal, [draft], idempotency_key=idempotency_key)[0]

    def remember_all(
        self,
        principal: Principal,
        drafts: Sequence[Draft],
        *,
        idempotency_key: str | None = None,
        also: Callable[[Writer, Sequence[Remembered]], None] | None = None,
    ) -> list[Remembered]:
        """Store drafts as `Memories.remember` does, and have those that are new facts without a name judged."""
        judge = self._judge()
        if judge is None:
            return self._memories.remember(principal, drafts, idempotency_key=idempotency_key, also=also)
        at_once = judge.is_local and len(drafts) <= _INLINE
        promised: list[Job] = []

        def promise(tx: Writer, results: Sequence[Remembered]) -> None:
            promised[:] = [
                self._jobs.add(tx, principal, JUDGING, {"memory_id": one.memory.id}, key=one.memory.id, claimed=at_once)
                for one in results
                if one.was_new and one.memory.kind is Kind.FACT and one.memory.name is None
            ]
            if also is not None:
                also(tx, results)

        results = self._memories.remember(principal, drafts, idempotency_key=idempotency_key, also=promise)
        if at_once:
            for job in promised:
                self._jobs.run(job)
        elif promised:
            self._jobs.wake(principal.tenant)
        return results

    # Judging

    def judge(self, job: Job) -> Result | Callable[[Writer], Result]:
        """Do a job of the kind JUDGING: judge first, then change what follows from it in one transaction.

        Raises MemoristError where the judge cannot say; then both facts stay, and the job is tried again.
        """
        judge = self._judge()
        memory_id = str(job.payload["memory_id"])
        fact = self._store.read(job.tenant, lambda tx: tx.memories.get(memory_id))
        if judge is None or fact is None or not fact.is_current(self._clock.now()):
            return {"judged": [], "skipped": "Judging is off." if judge is None else "The fact is no longer active."}
        findings = self._findings(judge, fact)
        return partial(self._settle, job.principal, judge.name, fact, findings) if findings else {"judged": []}

    def _findings(self, judge: Judge, fact: Memory) -> list[_Finding]:
        near = self._nearest(fact, most=_MOST_NEAR, distance=self._threshold)
        others = _likely_first(fact, near)[:_MOST_JUDGED]
        # A local judge costs nothing: many that share the new value must not hide the one that it changed.
        at_once = max(1, len(others)) if judge.is_local else self._top_k
        findings: list[_Finding] = []
        for start in range(0, len(others), at_once):
            page = others[start : start + at_once]
            found = [_Finding(other, judge.judge(*_newer_first(fact, other))) for other in page]
            findings += found
            # What is retired makes room among the nearest: others that are contradicted as well may stand behind it,
            # also behind a newer one, which may itself be retired before it retires this fact.
            if not any(one.verdict.ruling is Ruling.CONTRADICTS for one in found):
                break
        return findings

    def _settle(
        self, principal: Principal, judge: str, judged: Memory, findings: Sequence[_Finding], tx: Writer
    ) -> dict[str, Any]:
        """Carry out what was found, as far as the facts are still what was judged."""
        now = self._clock.now()
        fact = tx.memories.get(judged.id)
        if fact is None or not fact.is_current(now) or fact.content_hash != judged.content_hash:
            return {"judged": [], "skipped": "The fact changed meanwhile."}
        # All that follows something from, and of the others a few: the trail is not for whole lists of strangers.
        telling = [finding for finding in findings if finding.verdict.ruling is not Ruling.UNRELATED]
        others = [finding for finding in findings if finding.verdict.ruling is Ruling.UNRELATED][: self._top_k]
        said = [_said(finding) for finding in (*telling, *others)]
        told = {"judge": judge, "compared": len(findings), "verdicts": said}
        tx.events.append([self._event(principal, fact, "judged", told)])
        superseded: list[str] = []
        # In the order of their ids, so that two transactions never wait for each other.
        for finding in sorted(telling, key=lambda finding: finding.other.id):
            other = tx.memories.get(finding.other.id)
            if other is None or not other.is_current(now) or other.content_hash != finding.other.content_hash:
                continue
            newer, older = _newer_first(fact, other)
            if finding.verdict.ruling in (Ruling.UNSURE, Ruling.SAME):
                # Of two that say the same one is enough, but which of them is not for a judge to say.
                tx.facts.insert_doubt(self._doubt(newer, older, finding.verdict.reason, judge))
            elif not _older_stays(tx, newer, older):
                details = {"reason": finding.verdict.reason, "judge": judge, "confidence": finding.verdict.confidence}
                if self._retire(tx, principal, older, newer, details):
                    superseded.append(older.id)
                if older.id == fact.id:
                    break
        return {"judged": said, "superseded": superseded}

    def _retire(
        self, tx: Writer, principal: Principal, older: Memory, newer: Memory, details: Mapping[str, Any]
    ) -> bool:
        """Archive a fact that another took the place of. False where it is no longer active."""
        before: Memory | None = older
        for _ in range(_ATTEMPTS):
            now = self._clock.now()
            if before is None or not before.is_current(now) or before.content_hash != older.content_hash:
                return False
            archived = lifecycle.archive(before, _policy(tx), now)
            after = replace(archived, superseded_by=newer.id, valid_to=max(_since(newer), _since(before)))
            if writing.replace(tx, after, before.updated_at):
                tx.events.append(
                    [
                        self._event(principal, before, "superseded", {"by": newer.id, **details}),
                        self._event(principal, newer, "supersedes", {"id": before.id, **details}),
                    ]
                )
                return True
            before = tx.memories.get(older.id)
        raise Conflict("The fact is being changed by too many at once. Try again.")

    def _doubt(
        self, newer: Memory, older: Memory, reason: str, judge: str, status: DoubtStatus = DoubtStatus.OPEN
    ) -> Doubt:
        now = self._clock.now()
        return Doubt(new_id("dbt"), older.owner, newer.id, older.id, reason, judge, now, now, status)

    # Looking back, and taking back

    def history(self, principal: Principal, memory_id: str) -> tuple[FactVersion, ...]:
        """The chain that a fact belongs to, oldest first: what it replaced, what replaced it, and why.

        Raises NotFound or InvalidId.
        """
        memory_id = parse_id("mem", memory_id)

        def work(tx: Reader) -> tuple[FactVersion, ...]:
            memory = access.require_visible(principal, tx.memories.get(memory_id), memory_id)
            # What was anonymized is nobody's, and so seen by all; what replaced it is still somebody's.
            chain = [one for one in _chain(tx, memory) if access.can_see(principal, one.owner)]
            trail: dict[str, list[Event]] = {one.id: [] for one in chain}
            for event in tx.events.of(list(trail)):
                if event.event_type in _STEPS:
                    trail[event.memory_id].append(event)
            return tuple(FactVersion(one, tuple(trail[one.id])) for one in chain)

        return self._store.read(principal.tenant, work)

    def retired(self, principal: Principal, *, limit: int = 20, cursor: str | None = None) -> SupersessionPage:
        """A page of the facts that others took the place of, the last retired first, as far as they can be restored.

        Raises InvalidField or InvalidCursor.
        """
        validation.page_limit(limit)
        slices = access.visible_slices(principal)
        name = repr((_RETIRED_CURSOR, principal.tenant, slices))
        before = None if cursor is None else decode_place_cursor(name, cursor)
        now = self._clock.now()

        def work(tx: Reader) -> tuple[list[Memory], list[Supersession]]:
            found = [one for part in slices for one in tx.facts.retired(part, before, now, limit + 1)]
            found = sorted(found, key=lambda one: (one.updated_at, one.id), reverse=True)[: limit + 1]
            return found, _supersessions(tx, principal, found[:limit])

        found, items = self._store.read(principal.tenant, work)
        if len(found) <= limit:
            return SupersessionPage(tuple(items), None)
        # The list is in the order of the last change, and so is its cursor.
        last = replace(found[limit - 1], created_at=found[limit - 1].updated_at)
        return SupersessionPage(tuple(items), encode_place_cursor(name, last))

    def restore(self, principal: Principal, memory_id: str) -> Memory:
        """Make a retired fact active again, beside what took its place; that pair is not judged again.

        Raises NotFound, Forbidden, Conflict where it was not retired, DuplicateContent where the same text is active,
        or IllegalTransition where it is past recovery.
        """
        memory_id = parse_id("mem", memory_id)
        return self._store.write(principal.tenant, partial(self._restore, principal, memory_id))

    def _restore(self, principal: Principal, memory_id: str, tx: Writer) -> Memory:
        for _ in range(_ATTEMPTS):
            before = access.require_visible(principal, tx.memories.get(memory_id), memory_id)
            access.require_writable(principal, before.owner)
            if before.status is not Status.ARCHIVED or before.superseded_by is None:
                raise Conflict("Nothing took the place of this fact: there is nothing to restore.")
            if tx.memories.find_duplicate(before.owner.user, before.owner.agent, before.dedup_key) is not None:
                raise DuplicateContent
            after = lifecycle.restore(before, _policy(tx), self._clock.now())
            if self._replace(tx, after, before.updated_at):
                newer_id = before.superseded_by
                tx.events.append([self._event(principal, after, "restored", {"superseded_by": newer_id})])
                newer = tx.memories.get(newer_id)
                if newer is not None:
                    self._keep_both(tx, principal, newer, after)
                return after
        raise Conflict("The fact is being changed by too many at once. Try again.")

    def _replace(self, tx: Writer, after: Memory, expected_updated_at: datetime) -> bool:
        try:
            return writing.replace(tx, after, expected_updated_at)
        except Conflict as error:
            # The same text was stored by another process since it was looked for.
            raise DuplicateContent from error

    def _keep_both(self, tx: Writer, principal: Principal, one: Memory, other: Memory) -> None:
        who = _actor(principal)
        newer, older = _newer_first(one, other)
        if not tx.facts.insert_doubt(self._doubt(newer, older, f"Restored by {who}.", who, DoubtStatus.DISMISSED)):
            known = tx.facts.find_doubt(newer.id, older.id)
            if known is not None:
                tx.facts.settle_doubt(known.id, known.status, DoubtStatus.DISMISSED, self._clock.now())

    # What somebody is to decide

    def in_doubt(
        self,
        principal: Principal,
        *,
        status: DoubtStatus = DoubtStatus.OPEN,
        limit: int = 20,
        cursor: str | None = None,
    ) -> DoubtPage:
        """A page of the pairs that the judge was unsure of, newest first. Raises InvalidField or InvalidCursor."""
        validation.page_limit(limit)
        status = validation.choice("status", status, DoubtStatus)
        before = None if cursor is None else decode_id_cursor(_CURSOR, "dbt", cursor)
        slices = access.visible_slices(principal)

        def work(tx: Reader) -> list[InDoubt]:
            found = [doubt for part in slices for doubt in tx.facts.doubts(part, before, limit + 1, status=status)]
            found = sorted(found, key=lambda doubt: doubt.id, reverse=True)[: limit + 1]
            pairs = (_with_facts(tx, doubt) for doubt in found)
            return _with_verdicts(tx, [pair for pair in pairs if pair is not None])

        found = self._store.read(principal.tenant, work)
        items = tuple(found[:limit])
        return DoubtPage(items, encode_id_cursor(_CURSOR, items[-1].doubt.id) if len(found) > limit else None)

    def confirm(self, principal: Principal, doubt_id: str) -> InDoubt:
        """Decide that the newer fact holds: the older one is retired. Raises NotFound, Forbidden or Conflict."""
        return self._decide(principal, doubt_id, DoubtStatus.CONFIRMED)

    def refute(self, principal: Principal, doubt_id: str) -> InDoubt:
        """Decide that the older fact holds: the newer one is retired, as if it never held.

        Raises NotFound, Forbidden or Conflict.
        """
        return self._decide(principal, doubt_id, DoubtStatus.REFUTED)

    def dismiss(self, principal: Principal, doubt_id: str) -> InDoubt:
        """Decide that both facts hold: the pair is not judged again. Raises NotFound, Forbidden or Conflict."""
        return self._decide(principal, doubt_id, DoubtStatus.DISMISSED)

    def _decide(self, principal: Principal, doubt_id: str, status: DoubtStatus) -> InDoubt:
        doubt_id = parse_id("dbt", doubt_id)

        def work(tx: Writer) -> InDoubt:
            pair = _visible_doubt(tx, principal, doubt_id)
            access.require_writable(principal, pair.doubt.owner)
            if not tx.facts.settle_doubt(doubt_id, DoubtStatus.OPEN, status, self._clock.now()):
                raise Conflict(f"This was decided before: {pair.doubt.status}.")
            who = _actor(principal)
            if status is DoubtStatus.DISMISSED:
                details = {"against": pair.other.id, "reason": pair.doubt.reason}
                tx.events.append([self._event(principal, pair.fact, "doubt_dismissed", details)])
            else:
                stays, goes = (pair.fact, pair.other) if status is DoubtStatus.CONFIRMED else (pair.other, pair.fact)
                details = {"reason": f"{status.capitalize()} by {who}: {pair.doubt.reason}", "judge": who}
                # Written as it is, what stays is not retired by somebody else before this is done.
                is_kept = stays.is_current(self._clock.now()) and writing.replace(tx, stays, stays.updated_at)
                if not is_kept or not self._retire(tx, principal, goes, stays, details):
                    raise Conflict("One of the two facts is no longer active: there is nothing to decide.")
            decided = _with_facts(tx, replace(pair.doubt, status=status))
            assert decided is not None
            return decided

        return self._store.write(principal.tenant, work)

    def reopen(self, principal: Principal, doubt_id: str) -> InDoubt:
        """Take a decision back: the pair is in doubt again, and the fact that was retired for it is active again.

        Raises NotFound, Forbidden, Conflict where it is not decided or one of the facts is no longer active, or
        DuplicateContent where the text of the retired one is.
        """
        doubt_id = parse_id("dbt", doubt_id)

        def work(tx: Writer) -> InDoubt:
            pair = _visible_doubt(tx, principal, doubt_id)
            access.require_writable(principal, pair.doubt.owner)
            decided = pair.doubt.status
            if decided is DoubtStatus.OPEN:
                raise Conflict("This is not decided yet.")
            both = {pair.fact.id, pair.other.id}
            for retired in (one for one in (pair.fact, pair.other) if one.superseded_by in both):
                self._restore(principal, retired.id, tx)
                decided = DoubtStatus.DISMISSED  # So a fact is restored: beside what took its place.
            reopened = _with_facts(tx, replace(pair.doubt, status=DoubtStatus.OPEN))
            now = self._clock.now()
            if reopened is None or not (reopened.fact.is_current(now) and reopened.other.is_current(now)):
                raise Conflict("One of the two facts is no longer active: there is nothing to decide.")
            if not tx.facts.settle_doubt(doubt_id, decided, DoubtStatus.OPEN, now):
                raise Conflict("This is being decided by somebody else. Look again.")
            details = {"against": reopened.other.id, "reason": reopened.doubt.reason}
            tx.events.append([self._event(principal, reopened.fact, "doubt_reopened", details)])
            return reopened

        return self._store.write(principal.tenant, work)

    def _event(self, principal: Principal, memory: Memory, event_type: str, payload: Mapping[str, Any]) -> Event:
        return Event(memory.id, event_type, principal.source, self._clock.now(), _actor(principal), payload)


def _owner_of(principal: Principal, scope: FactScope) -> Owner:
    if scope is FactScope.USER:
        if principal.user is None:
            raise InvalidField(
                "scope user needs a user: use a user's key, or name one with X-Memorist-User.", field="scope"
            )
        return Owner(user=principal.user)
    if principal.agent is None:
        raise InvalidField(
            "scope agent needs an agent, and none is named here: use scope user, or name one with --agent or "
            "X-Memorist-Agent.",
            field="scope",
        )
    return Owner(agent=principal.agent)


def _since(memory: Memory) -> datetime:
    """Since when a fact holds, as far as is known."""
    return memory.valid_from or memory.event_time or memory.created_at


def _order(memory: Memory) -> tuple[datetime, datetime, str]:
    """Which of two facts is the newer one. No two are equal, so that a chain never turns back on itself."""
    return _since(memory), memory.created_at, memory.id


def _newer_first(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    return (one, other) if _order(one) > _order(other) else (other, one)


def _likely_first(fact: Memory, near: Sequence[Memory]) -> list[Memory]:
    """The nearest one, then those that claim the same sort of thing of the same subject, then the others, as near."""
    return [*near[:1], *sorted(near[1:], key=lambda other: -judging.likeness(fact.content, other.content))]


def _policy(tx: Reader) -> Policy:
    revision = tx.policies.get()
    return Policy() if revision is None else revision.policy


def _actor(principal: Principal) -> str:
    return principal.user or principal.agent or principal.role


def _said(finding: _Finding) -> dict[str, Any]:
    return {
        "against": finding.other.id,
        "verdict": finding.verdict.ruling,
        "reason": finding.verdict.reason,
        "confidence": finding.verdict.confidence,
    }


def _older_stays(tx: Reader, newer: Memory, older: Memory) -> bool:
    """Whether somebody decided so."""
    known = tx.facts.find_doubt(newer.id, older.id)
    return known is not None and known.status in (DoubtStatus.DISMISSED, DoubtStatus.REFUTED)


def _chain(tx: Reader, memory: Memory) -> list[Memory]:
    """All facts that replaced each other up to the one that stands now, oldest first."""
    newest = memory
    seen = {memory.id}
    while newest.superseded_by is not None and newest.superseded_by not in seen:
        following = tx.memories.get(newest.superseded_by)
        if following is None:
            break
        newest = following
        seen.add(newest.id)
    chain = {newest.id: newest}
    pending = [newest.id]
    while pending and len(chain) < _LONGEST_CHAIN:
        for older in tx.facts.superseded(pending.pop()):
            if older.id not in chain:
                chain[older.id] = older
                pending.append(older.id)
    chain.setdefault(memory.id, memory)
    return sorted(chain.values(), key=_order)


def _visible_doubt(tx: Reader, principal: Principal, doubt_id: str) -> InDoubt:
    doubt = tx.facts.get_doubt(doubt_id)
    pair = None if doubt is None or not access.can_see(principal, doubt.owner) else _with_facts(tx, doubt)
    if pair is None:
        raise NotFound(f"There is no doubt {doubt_id} that you may see.")
    return pair


def _with_facts(tx: Reader, doubt: Doubt) -> InDoubt | None:
    fact, other = tx.memories.get(doubt.fact_id), tx.memories.get(doubt.other_id)
    return None if fact is None or other is None else InDoubt(doubt, fact, other)


def _with_verdicts(tx: Reader, pairs: Sequence[InDoubt]) -> list[InDoubt]:
    """The pairs with what the judge said of them last. Either fact may be the one that was judged."""
    verdicts: dict[frozenset[str], Verdict] = {}
    for event in tx.events.of(list({one.id for pair in pairs for one in (pair.fact, pair.other)})):
        if event.event_type == "judged":
            for said in event.payload.get("verdicts", ()):
                verdict = Verdict(Ruling(said["verdict"]), said["reason"], said["confidence"])
                verdicts[frozenset((event.memory_id, said["against"]))] = verdict
    return [replace(pair, verdict=verdicts.get(frozenset((pair.fact.id, pair.other.id)))) for pair in pairs]


def _supersessions(tx: Reader, principal: Principal, retired: Sequence[Memory]) -> list[Supersession]:
    newer = {one.id: one for one in tx.memories.get_many([one.superseded_by for one in retired if one.superseded_by])}
    told: dict[str, Event] = {}
    for event in tx.events.of([one.id for one in retired]):
        if event.event_type == "superseded":
            told[event.memory_id] = event
    found = []
    for one in retired:
        by = newer.get(one.superseded_by or "")
        event = told.get(one.id, Event(one.id, "superseded", "", one.updated_at))
        found.append(
            Supersession(
                one,
                by if by is not None and access.can_see(principal, by.owner) else None,
                event.created_at,
                event.payload.get("reason", ""),
                event.payload.get("judge", ""),
                event.payload.get("confidence"),
            )
        )
    return found
