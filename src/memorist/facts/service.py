"""Facts that stay true: each new one is judged against those nearest to it, and what it contradicts is retired.

The fact is durable before anybody judges it, and judging is a job, so that it is not lost. Nothing is deleted: what is
retired is archived with what replaced it and until when it held, and `restore` brings it back. Which of two facts
is the newer one is decided by when they hold, not by when they were judged, so that no chain turns back on itself.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import zip_longest
from typing import Any, Protocol

from memorist.errors import LlmRefused
from memorist.facts.doubts import Doubts
from memorist.facts.history import FactHistory
from memorist.facts.plain.values import ValueChange
from memorist.facts.port import Judge
from memorist.facts.superseding import doubt_of, insert_doubt, newer_first, told_to
from memorist.facts.values import DoubtStatus, Ruling, Unheard, Verdict
from memorist.memories import lifecycle
from memorist.memories.governance import may_merge, may_retire
from memorist.memories.service import Memories
from memorist.memories.values import Draft, Governor, Kind, Memory, Remembered, Trust
from memorist.platform import access, validation
from memorist.platform.actors import event_by
from memorist.platform.jobs import Jobs, Result
from memorist.platform.values import Job, Owner, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock

JUDGING = "judge"
"""The kind of the jobs that judge a fact."""

_INLINE = 8
"""Facts written at once that a local judge looks at before the write returns; more are left to the background."""
_MOST_JUDGED = 100
_WAITING = "doubts_until_heard"
_MERGING = (Ruling.SAME, Ruling.REFINES)
_ENDING = (
    ValueChange.ANOTHER,
    ValueChange.DENIED,
    ValueChange.RESTATED,
    ValueChange.PART,
    ValueChange.LIKELY,
    ValueChange.UNCERTAIN,
)
_MAKING_ROOM = (Ruling.CONTRADICTS, *_MERGING)


class FactScope(StrEnum):
    """Whom a fact is about, and so where it comes back: in any session of the user, or of the agent."""

    USER = "user"
    AGENT = "agent"


class Nearest(Protocol):
    """The active facts of the same owner that lie nearest to one (`Recall.nearest_facts`)."""

    def __call__(self, memory: Memory, *, most: int, distance: float, every: bool = False) -> list[Memory]: ...


@dataclass(frozen=True, slots=True)
class _Finding:
    """What a judge said of a fact and another one, as that one was then."""

    other: Memory
    verdict: Verdict


class Facts(Doubts, FactHistory):
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

        The judge is asked about `top_k` of them, and about as many more while it finds some that have to go.
        """
        super().__init__(store, clock, memories.rows)
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
        owner = _owner_of(principal, scope)
        draft = Draft(content, trust=Trust.AGENT, owner=owner, governed_by=Governor.AGENT_TOOLS)
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
        later: bool = False,
    ) -> list[Remembered]:
        """Store drafts as `Memories.remember` does, and have those that are new facts without a name judged; `later`:
        in the background, for doors whose writes wait for no judge.
        """
        judge = self._judge()
        if judge is None:
            return self._memories.remember(principal, drafts, idempotency_key=idempotency_key, also=also)
        at_once = judge.is_local and len(drafts) <= _INLINE and not later
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

    def near(self, principal: Principal, texts: Sequence[str], like: Draft, *, most: int) -> list[Memory]:
        """Facts that the caller is shown and that lie nearest to some texts, those nearest to any of them first; of the
        owner that such a draft has. Raises InvalidField or Forbidden.
        """
        probes = [self._memories.prepare(principal, replace(like, content=text)) for text in texts]
        ranked = [self._nearest(probe, most=most, distance=self._threshold, every=True) for probe in probes]
        in_turn = [one for rank in zip_longest(*ranked) for one in rank if one is not None]
        shown = access.shown_slices(principal)
        return list({one.id: one for one in in_turn if access.is_among(shown, one)}.values())[:most]

    # Judging

    def judge(self, job: Job) -> Result | Callable[[Writer], Result]:
        """Do a job of the kind JUDGING: judge first, then change what follows from it in one transaction.

        Raises MemoristError where the judge cannot say; then both facts stay, and the job is tried again. Where only a
        part of it waits for another judge, the rest is carried out before.
        """
        judge = self._judge()
        memory_id = str(job.payload["memory_id"])
        fact = self._store.read(job.tenant, lambda tx: tx.memories.get(memory_id))
        if judge is None or fact is None or not fact.is_current(self._clock.now()):
            return {"judged": [], "skipped": "Judging is off." if judge is None else "The fact is no longer active."}
        findings = self._findings(judge, fact)
        settle = partial(self._settle, job.principal, judge.name, fact, findings, _doubted_until_heard(job))
        unheard = [one.verdict.error for one in findings if isinstance(one.verdict, Unheard)]
        if not unheard:
            return settle if findings else {"judged": []}
        # One that is tried again says more than one that is not.
        error = min(unheard, key=lambda error: isinstance(error, LlmRefused))
        if job.result is None or any(_is_telling(one) for one in findings):
            error.so_far = self._store.write(job.tenant, settle)
        raise error

    def _findings(self, judge: Judge, fact: Memory) -> list[_Finding]:
        near = self._nearest(fact, most=_MOST_JUDGED, distance=self._threshold)
        # What goes on from a message repeats it, and says nothing against what was learned from it.
        others = _likely_first(fact, [one for one in near if not _goes_on_from(fact, one)])
        findings: list[_Finding] = []
        for start in range(0, len(others), self._top_k):
            page = others[start : start + self._top_k]
            verdicts = judge.judge([newer_first(fact, other) for other in page])
            found = [_Finding(other, verdict) for other, verdict in zip(page, verdicts, strict=True)]
            findings += found
            # What is retired or merged makes room among the nearest: others that are contradicted as well may stand
            # behind it, also behind a newer one, which may itself be retired before it retires this fact.
            if not any(one.verdict.ruling in _MAKING_ROOM for one in found):
                break
            if any(isinstance(one.verdict, Unheard) for one in found):
                break  # It is judged again, and nobody waits for a judge on every page.
        return findings

    def _settle(
        self,
        principal: Principal,
        judge: str,
        judged: Memory,
        findings: Sequence[_Finding],
        doubted: Set[str],
        tx: Writer,
    ) -> dict[str, Any]:
        """Carry out what was found, as far as the facts are still what was judged. `doubted` are the doubts that an
        earlier attempt had until a judge was heard: they end where they were for nothing.
        """
        now = self._clock.now()
        fact = tx.memories.get(judged.id)
        if fact is None or not fact.is_current(now) or fact.content_hash != judged.content_hash:
            return {"judged": [], "skipped": "The fact changed meanwhile."}
        # All that follows something from, and of the others a few: the trail is not for whole lists of strangers.
        telling = [finding for finding in findings if finding.verdict.ruling is not Ruling.UNRELATED]
        others = [finding for finding in findings if finding.verdict.ruling is Ruling.UNRELATED][: self._top_k]
        said = [_said(fact, finding) for finding in (*telling, *others)]
        told = {"judge": judge, "compared": len(findings), "verdicts": said}
        tx.events.append([event_by(principal, fact.id, "judged", now, told)])
        self._end_doubts(tx, fact, findings, doubted)
        superseded: list[str] = []
        waiting = set(doubted)
        # In the order of their ids, so that two transactions never wait for each other.
        for finding in sorted(telling, key=lambda finding: finding.other.id):
            other = tx.memories.get(finding.other.id)
            if other is None or not other.is_current(now) or other.content_hash != finding.other.content_hash:
                continue
            newer, older = newer_first(fact, other)
            ruling = finding.verdict.ruling
            if ruling in _MERGING and not may_merge(newer, older):
                continue
            if ruling is Ruling.UNSURE or not may_retire(newer, older):
                # Nor is it for a judge to say who is right where another door or profile keeps one of them, or only the
                # older one was stated.
                waiting |= self._put_in_doubt(tx, newer, older, finding.verdict, judge)
            elif not _older_stays(tx, newer, older):
                details = {"reason": finding.verdict.reason, "judge": judge, "confidence": finding.verdict.confidence}
                details |= {"merged": str(ruling)} if ruling in _MERGING else {}
                # What all profiles know does not name what one of them was told as its source.
                joins = ruling in _MERGING and newer.owner == older.owner
                is_gone = (self.merge if joins else self.retire)(tx, principal, older, newer, details)
                superseded += [older.id] if is_gone else []
                if is_gone and older.id == fact.id:
                    break
        return {"judged": said, "superseded": superseded} | ({_WAITING: sorted(waiting)} if waiting else {})

    def _put_in_doubt(self, tx: Writer, newer: Memory, older: Memory, verdict: Verdict, judge: str) -> set[str]:
        """Link two facts, unless they are. Returns the doubt where it is a new one, until a judge is heard."""
        doubt = self._new_doubt(newer, older, verdict.reason, judge)
        is_new = insert_doubt(tx, doubt)
        if isinstance(verdict, Unheard):
            return {doubt.id} if is_new else set()
        known = None if is_new else doubt_of(tx, newer, older)
        if known is not None:
            # A judge shares it by now: whoever had it only until then does not end it.
            tx.facts.settle_doubt(known.id, DoubtStatus.OPEN, DoubtStatus.OPEN, self._clock.now())
        return set()

    def _end_doubts(self, tx: Writer, fact: Memory, findings: Sequence[_Finding], doubted: Set[str]) -> None:
        """Remove those that there are only because a judge was not heard, and that it does not share.

        None is dismissed: that is for people, and holds against every judge.
        """
        for finding in findings if doubted else ():
            if finding.verdict.ruling is Ruling.UNRELATED and not isinstance(finding.verdict, Unheard):
                known = doubt_of(tx, fact, finding.other)
                if known is not None and known.id in doubted:
                    tx.facts.remove_doubt(known.id)


def _is_telling(finding: _Finding) -> bool:
    """Whether something follows from it that does not wait for another judge."""
    return finding.verdict.ruling is not Ruling.UNRELATED and not isinstance(finding.verdict, Unheard)


def _doubted_until_heard(job: Job) -> frozenset[str]:
    """The doubts that an earlier attempt had."""
    return frozenset(map(str, (job.result or {}).get(_WAITING, ())))


def _owner_of(principal: Principal, scope: FactScope) -> Owner:
    if scope is FactScope.USER:
        return Owner(user=access.user_in_scope(principal))
    return Owner(agent=access.agent_in_scope(principal))


def _goes_on_from(one: Memory, other: Memory) -> bool:
    """Whether one of two facts quotes the message that the other was learned from."""
    return any(
        two.meta_text("message_id") in lifecycle.quoted_in(quoting.kind, quoting.meta)
        for quoting, two in ((one, other), (other, one))
    )


def _likely_first(fact: Memory, near: Sequence[Memory]) -> list[Memory]:
    """The nearest one, then those of which the fact gives another value, those of the same subject, and the others."""
    from memorist.facts.plain.changes import change_of  # Its patterns take a moment to load.

    def distance(other: Memory) -> tuple[bool, bool]:
        newer, older = newer_first(fact, other)
        begins_otherwise = fact.content.split(" ", 1)[0] != other.content.split(" ", 1)[0]
        return change_of(older.content, newer.content) not in _ENDING, begins_otherwise

    return [*near[:1], *sorted(near[1:], key=distance)]


def _said(fact: Memory, finding: _Finding) -> dict[str, Any]:
    verdict = finding.verdict
    said = {"verdict": verdict.ruling, "reason": verdict.reason, "confidence": verdict.confidence}
    return {"against": finding.other.id, **told_to(fact, finding.other, said)}


def _older_stays(tx: Reader, newer: Memory, older: Memory) -> bool:
    """Whether somebody decided so."""
    known = doubt_of(tx, newer, older)
    return known is not None and known.status in (DoubtStatus.DISMISSED, DoubtStatus.REFUTED)
