"""What somebody is to decide: pairs of facts that the judge was unsure of."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from memorist.errors import Conflict, Forbidden, NotFound
from memorist.facts.superseding import Superseding, told_to
from memorist.facts.values import Doubt, DoubtStatus, InDoubt, Verdict, verdicts_told
from memorist.ids import parse_id
from memorist.memories import writing
from memorist.memories.entries import note_reading
from memorist.memories.values import Memory
from memorist.platform import access, validation
from memorist.platform.actors import actor_of, event_by
from memorist.platform.paging import Page, id_cursors, page_of
from memorist.platform.values import Event, Principal
from memorist.ports import Reader, Writer

_DOUBTS = id_cursors("doubts", "dbt")


class Doubts(Superseding):
    def in_doubt(
        self,
        principal: Principal,
        *,
        status: DoubtStatus = DoubtStatus.OPEN,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[InDoubt]:
        """A page of the pairs that the judge was unsure of, newest first. Raises InvalidField or InvalidCursor."""
        validation.page_limit(limit)
        status = validation.choice("status", status, DoubtStatus)
        before = _DOUBTS.decode(cursor)
        slices = access.visible_slices(principal)
        now = self._clock.now()

        def work(tx: Reader) -> list[InDoubt]:
            shown: list[InDoubt] = []
            last, is_more = before, True
            # A doubt is its older fact's owner's, and the newer one may be of an agent that the caller does not see.
            while is_more and len(shown) <= limit:
                pages = [tx.facts.doubts(part, last, limit + 1, now, status=status) for part in slices]
                found = [doubt for page in pages for doubt in page]
                found = sorted(found, key=lambda doubt: doubt.id, reverse=True)[: limit + 1]
                shown += [pair for pair in _with_facts(tx, found) if _sees_both(principal, pair, now)]
                is_more = len(found) > limit
                last = found[-1].id if found else None
            return _with_verdicts(tx, shown[: limit + 1])

        found = self._store.read(principal.tenant, work)
        shown = [memory for pair in found[:limit] for memory in (pair.fact, pair.other)]
        note_reading(self._store, principal, shown, now)
        return page_of(found, limit, lambda last: _DOUBTS.encode(last.doubt.id))

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
            pair = _visible_doubt(tx, principal, doubt_id, self._clock.now())
            _require_decidable(principal, pair, status)
            if not tx.facts.settle_doubt(doubt_id, DoubtStatus.OPEN, status, self._clock.now()):
                raise Conflict(f"This was decided before: {pair.doubt.status}.")
            who = actor_of(principal)
            if status is DoubtStatus.DISMISSED:
                tx.events.append(_events_of(principal, pair, "doubt_dismissed", self._clock.now()))
            else:
                stays, goes = _sides(pair, status)
                details = {"reason": f"{status.capitalize()} by {who}: {pair.doubt.reason}", "judge": who}
                # Written as it is, what stays is not retired by somebody else before this is done.
                is_kept = stays.is_current(self._clock.now()) and writing.replace(tx, stays, stays.updated_at)
                if not is_kept or not self.retire(tx, principal, goes, stays, details):
                    raise Conflict("One of the two facts is no longer active: there is nothing to decide.")
            decided = _with_its_facts(tx, replace(pair.doubt, status=status))
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
            pair = _visible_doubt(tx, principal, doubt_id, self._clock.now())
            decided = pair.doubt.status
            _require_decidable(principal, pair, decided)
            if decided is DoubtStatus.OPEN:
                raise Conflict("This is not decided yet.")
            both = {pair.fact.id, pair.other.id}
            for retired in (one for one in (pair.fact, pair.other) if one.superseded_by in both):
                self._restore(principal, retired.id, tx)
                decided = DoubtStatus.DISMISSED  # So a fact is restored: beside what replaced it.
            reopened = _with_its_facts(tx, replace(pair.doubt, status=DoubtStatus.OPEN))
            now = self._clock.now()
            if reopened is None or not (reopened.fact.is_current(now) and reopened.other.is_current(now)):
                raise Conflict("One of the two facts is no longer active: there is nothing to decide.")
            if not tx.facts.settle_doubt(doubt_id, decided, DoubtStatus.OPEN, now):
                raise Conflict("This is being decided by somebody else. Look again.")
            tx.events.append(_events_of(principal, reopened, "doubt_reopened", now))
            return reopened

        return self._store.write(principal.tenant, work)


def decisions(principal: Principal, pair: InDoubt) -> frozenset[DoubtStatus]:
    """What the caller may decide about a pair, and take back."""
    found = []
    for status in (DoubtStatus.CONFIRMED, DoubtStatus.REFUTED, DoubtStatus.DISMISSED):
        with suppress(Forbidden):
            _require_decidable(principal, pair, status)
            found.append(status)
    return frozenset(found)


def _require_decidable(principal: Principal, pair: InDoubt, status: DoubtStatus) -> None:
    """Raises Forbidden where the caller may not change what a decision retires; one that keeps both is about both."""
    if status in (DoubtStatus.CONFIRMED, DoubtStatus.REFUTED):
        access.require_changeable(principal, _sides(pair, status)[1])
    else:
        access.require_writable(principal, pair.fact.owner)
        access.require_writable(principal, pair.other.owner)


def _sides(pair: InDoubt, status: DoubtStatus) -> tuple[Memory, Memory]:
    """Which of the two stays and which goes, by a decision for one of them."""
    return (pair.fact, pair.other) if status is DoubtStatus.CONFIRMED else (pair.other, pair.fact)


def _events_of(principal: Principal, pair: InDoubt, event_type: str, now: datetime) -> list[Event]:
    """What was decided is decided of both facts, whichever of them is looked at."""
    why = {"reason": pair.doubt.reason}
    return [
        event_by(principal, one.id, event_type, now, {"against": other.id, **told_to(one, other, why)})
        for one, other in ((pair.fact, pair.other), (pair.other, pair.fact))
    ]


def _visible_doubt(tx: Reader, principal: Principal, doubt_id: str, now: datetime) -> InDoubt:
    doubt = tx.facts.get_doubt(doubt_id)
    pair = None if doubt is None or not access.can_see(principal, doubt.owner) else _with_its_facts(tx, doubt)
    if pair is None or not _sees_both(principal, pair, now):
        raise NotFound(f"There is no doubt {doubt_id} that you may see.")
    return pair


def _sees_both(principal: Principal, pair: InDoubt, now: datetime) -> bool:
    return all(access.is_shown(principal, one, in_use=one.is_in_use(now)) for one in (pair.fact, pair.other))


def _with_its_facts(tx: Reader, doubt: Doubt) -> InDoubt | None:
    return next(iter(_with_facts(tx, [doubt])), None)


def _with_facts(tx: Reader, doubts: Sequence[Doubt]) -> list[InDoubt]:
    """Those whose facts are both still there."""
    ids = {fact_id for doubt in doubts for fact_id in (doubt.fact_id, doubt.other_id)}
    facts = {fact.id: fact for fact in tx.memories.get_many(list(ids))}
    return [
        InDoubt(doubt, facts[doubt.fact_id], facts[doubt.other_id])
        for doubt in doubts
        if doubt.fact_id in facts and doubt.other_id in facts
    ]


def _with_verdicts(tx: Reader, pairs: Sequence[InDoubt]) -> list[InDoubt]:
    """The pairs with what the judge said of them last. Either fact may be the one that was judged."""
    verdicts: dict[frozenset[str], Verdict] = {}
    for event in tx.events.of(list({one.id for pair in pairs for one in (pair.fact, pair.other)})):
        if event.event_type == "judged":
            for against, verdict in verdicts_told(event):
                verdicts[frozenset((event.memory_id, against))] = verdict
    return [replace(pair, verdict=verdicts.get(frozenset((pair.fact.id, pair.other.id)))) for pair in pairs]
