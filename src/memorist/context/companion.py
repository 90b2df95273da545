"""What a companion remembers of one user: goals, preferences, insights and history, and which hypotheses were tested.

Entries are only ever added, and the newest counts; a deleted one is erased.
"""

import heapq
import math
from builtins import list as List
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any

from memorist.context.port import Remember
from memorist.context.values import MAX_ENTRY
from memorist.erasure.service import Erasure
from memorist.errors import Conflict, Forbidden, InvalidField, NotFound
from memorist.ids import parse_id
from memorist.memories import lifecycle
from memorist.memories.entries import note_reading
from memorist.memories.fields import check_draft
from memorist.memories.governance import TESTED
from memorist.memories.hashes import dedup_key, finding_key
from memorist.memories.positions import position_cursors, position_of
from memorist.memories.service import Memories
from memorist.memories.values import Draft, Governor, Kind, Memory, Position, Remembered, Trust
from memorist.platform import access, validation
from memorist.platform.paging import Page, page_of
from memorist.platform.redaction import Redaction
from memorist.platform.values import OwnerFilter, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock

MAX_INJECTED = 80
_MOST_KNOWN = 1000

_CURSORS = position_cursors("companion")


class Category(StrEnum):
    """What an entry is about."""

    GOAL = "goal"
    INSIGHT = "insight"
    PREFERENCE = "preference"
    HISTORY = "history"


class FindingVerdict(StrEnum):
    VALIDATED = "validated"
    CONDITIONAL = "conditional"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Finding:
    """A hypothesis about the user that was tested on data, and what came of it."""

    finding_id: str
    feature: str
    target: str
    verdict: FindingVerdict
    effect: str | float
    text: str
    source_turn_id: str | None = None
    """The turn that it was tested for."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a finding left: that it was tested and, where it was validated, the insight."""

    tested: Memory
    insight: Memory | None
    was_new: bool


class Companion:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        memories: Memories,
        erasure: Erasure,
        redaction: Redaction,
        remember: Remember,
    ) -> None:
        """`remember` stores what is stated, and has it compared with what is known."""
        self._remember = remember
        self._store = store
        self._clock = clock
        self._memories = memories
        self._erasure = erasure
        self._redaction = redaction

    def list(
        self,
        principal: Principal,
        *,
        category: Category | str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        include_tested: bool = False,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[Memory]:
        """A page of the user's entries, newest first; paging neither skips nor repeats one. What was inferred elsewhere
        is none of them.

        Raises Forbidden, InvalidField or InvalidCursor.
        """
        validation.page_limit(limit)
        slices = own_slices(principal)
        categories = _categories(category, include_tested=include_tested)
        since = None if after is None else validation.moment("after", after)
        until = None if before is None else validation.moment("before", before)
        filters = (principal.tenant, slices, categories, since, until)
        # Before every id of that moment: what was created then is not from before it.
        start = None if until is None else Position(until, "")
        position = _CURSORS.decode(cursor, filters) or start
        found = _newest(
            self._store,
            principal.tenant,
            slices,
            categories,
            self._clock.now(),
            limit + 1,
            after=position,
            since=since,
            is_shown=_is_told_or_of_a_turn,
        )
        note_reading(self._store, principal, found[:limit], self._clock.now())
        return page_of(found, limit, lambda last: _CURSORS.encode(position_of(last), filters))

    def add(
        self,
        principal: Principal,
        text: str,
        category: Category,
        *,
        confidence: float = 1.0,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Write an entry, also where the same was written before: what is said last counts.

        Raises InvalidField, Forbidden, IdempotencyMismatch, IdempotencyInFlight or StoreError.
        """
        access.require_user(principal)
        draft = Draft(
            self._entry_text(text),
            category=validation.choice("category", category, Category),
            confidence=validation.fraction("confidence", confidence),
            same_as="",
            governed_by=Governor.COMPANION,
        )
        return self._remember(principal, [draft], idempotency_key=idempotency_key)[0]

    def erase(self, principal: Principal, memory_id: str) -> None:
        """Remove an entry for good, from the file too. Raises NotFound, InvalidId or Forbidden."""
        access.require(principal, access.Action.WRITE)
        self._erasure.erase(principal, [self.get(principal, memory_id).id])

    def rewrite(self, principal: Principal, memory_id: str, text: str, category: Category | None = None) -> Remembered:
        """Write an entry anew, in its category where none is given, and erase the old one. Raises as both do."""
        access.require(principal, access.Action.WRITE)
        old = self.get(principal, memory_id)
        new = self.add(principal, text, validation.choice("category", category or old.category or "", Category))
        self._erasure.erase(principal, [old.id])
        return new

    def get(self, principal: Principal, memory_id: str) -> Memory:
        """One of the user's own entries, whatever its state. Raises NotFound, InvalidId or Forbidden."""
        memory_id = parse_id("mem", memory_id)
        found = self._store.read(principal.tenant, lambda tx: tx.memories.get(memory_id))
        is_entry = found is not None and found.category in (*Category, TESTED) and found.kind is Kind.FACT
        is_entry = is_entry and found is not None and len(found.content) <= MAX_ENTRY and _is_told_or_of_a_turn(found)
        if found is None or not is_entry or not any(part.matches(found.owner) for part in own_slices(principal)):
            raise NotFound(f"There is no memory {memory_id} that you may see.")
        return found

    def record(self, principal: Principal, finding: Finding) -> Recorded:
        """Note that a hypothesis was tested, once for each finding; a validated one becomes an insight too.

        Raises Conflict where the finding is known with other values, InvalidField, Forbidden or StoreError.
        """
        access.require_user(principal)
        self._entry_text(finding.text)
        drafts = _finding_drafts(finding)
        self._redaction.refuse("finding_id", finding.finding_id)
        if (known := self._tested(principal, drafts[0])) is not None:
            # Recorded before: an insight that was deleted since does not come back.
            drafts = drafts[:1] if len(drafts) > 1 and not self._has_insight(principal, known) else drafts
        meant = [self._memories.prepare(principal, draft) for draft in drafts]

        def compare(_: Writer, results: Sequence[Remembered]) -> None:
            for one, wanted in zip(results, meant, strict=True):
                if _said(one.memory) != _said(wanted):
                    raise Conflict(
                        f"The finding {finding.finding_id} was recorded before with other values. Use a new finding_id."
                    )

        stored = self._memories.remember(principal, drafts, also=compare)
        insight = stored[1].memory if len(stored) > 1 else None
        return Recorded(stored[0].memory, insight, stored[0].was_new)

    def _entry_text(self, text: str) -> str:
        """The text of a new entry, which has to fit with what stands for its secrets, too: no list would show it
        otherwise. Raises InvalidField.
        """
        validation.text("text", text, longest=MAX_ENTRY)
        if (length := len(self._redaction.text(text))) > MAX_ENTRY:
            raise InvalidField.of(
                "text", f"has {length} characters once its secrets are redacted; at most {MAX_ENTRY} are taken."
            )
        return text

    def _tested(self, principal: Principal, draft: Draft) -> Memory | None:
        owner = access.writable_owner(principal, draft.owner)
        key = dedup_key("", check_draft(draft), draft.same_as)
        return self._store.read(principal.tenant, lambda tx: tx.memories.find_duplicate(owner.user, owner.agent, key))

    def _has_insight(self, principal: Principal, tested: Memory) -> bool:
        same_as = finding_key(tested.meta_text("finding_id") or "")
        insight = Draft(
            tested.content, Kind.FACT, category=Category.INSIGHT, same_as=same_as, governed_by=Governor.COMPANION
        )
        return self._tested(principal, insight) is not None

    def newest(self, principal: Principal) -> List[Memory]:
        """As many of the newest entries as a model is told. Raises Forbidden."""
        return self._latest(principal, MAX_INJECTED)

    def known(self, principal: Principal) -> List[Memory]:
        """What is remembered of the user, newest first; of very much the newest. Raises Forbidden."""
        return self._latest(principal, _MOST_KNOWN)

    def _latest(self, principal: Principal, most: int) -> List[Memory]:
        return _newest(
            self._store, principal.tenant, told_slices(principal), (*Category, TESTED), self._clock.now(), most
        )

    def note_reading(self, principal: Principal, ids: Sequence[str]) -> None:
        """Say in the history of those that are entries who read them for the user, once a day."""
        if principal.on_behalf and ids:
            found = self._store.read(principal.tenant, lambda tx: tx.memories.get_many(ids))
            note_reading(self._store, principal, found, self._clock.now())


def _newest(
    store: Store,
    tenant: str,
    slices: Sequence[OwnerFilter],
    categories: Sequence[str],
    now: datetime,
    limit: int,
    *,
    after: Position | None = None,
    since: datetime | None = None,
    is_shown: Callable[[Memory], bool] = lambda _: True,
) -> list[Memory]:
    # Most of what each category has is older than what is wanted: it is read a little at a time.
    size = limit // 4 + 1

    def walk(tx: Reader, part: OwnerFilter, category: str) -> Iterator[Memory]:
        position = after
        while page := tx.context.list_category(part, category, now, size, after=position, since=since):
            yield from filter(is_shown, page)
            if len(page) < size:
                return
            position = Position(page[-1].created_at, page[-1].id)

    def work(tx: Reader) -> list[Memory]:
        walks = [walk(tx, part, category) for part in slices for category in categories]
        newest = heapq.merge(*walks, key=lambda memory: (memory.created_at, memory.id), reverse=True)
        return list(islice(newest, limit))

    return store.read(tenant, work)


def _is_told_or_of_a_turn(memory: Memory) -> bool:
    """Whoever reads an entry that names no turn takes it for what the user told: what was inferred elsewhere is not."""
    return (memory.source_ref or "").startswith("turn_") or lifecycle.EXTRACTOR not in (memory.meta or {})


def _said(memory: Memory) -> tuple[Any, ...]:
    return memory.content, memory.meta


def _finding_drafts(finding: Finding) -> list[Draft]:
    validation.identifier("finding_id", finding.finding_id)
    for field in ("feature", "target", "effect"):
        if field != "effect" or isinstance(finding.effect, str):
            validation.text(field, getattr(finding, field), longest=validation.MAX_LINE, one_line=True)
    if isinstance(finding.effect, float) and not math.isfinite(finding.effect):
        raise InvalidField.of("effect", "must be a finite number or a text.")
    if isinstance(finding.effect, int) and abs(finding.effect) >= 2**63:
        raise InvalidField.of("effect", "must be a number of at most 64 bits or a text.")
    verdict = validation.choice("verdict", finding.verdict, FindingVerdict)
    meta: dict[str, Any] = {
        "finding_id": finding.finding_id,
        "feature": finding.feature,
        "target": finding.target,
        "verdict": str(verdict),
        "effect": finding.effect,
    }
    categories = [TESTED] + ([Category.INSIGHT] if verdict is FindingVerdict.VALIDATED else [])
    return [
        Draft(
            finding.text,
            Kind.FACT,
            category=category,
            confidence=1.0,
            meta=meta,
            source_ref=None if finding.source_turn_id is None else parse_id("turn", finding.source_turn_id),
            trust=Trust.AGENT,
            same_as=finding_key(finding.finding_id),
            governed_by=Governor.COMPANION,
        )
        for category in categories
    ]


def _categories(category: Category | str | None, *, include_tested: bool) -> tuple[str, ...]:
    if category == TESTED:
        if not include_tested:
            raise InvalidField.of("category", f"{TESTED} is listed with include={TESTED} alone.")
        return (TESTED,)
    if category is not None:
        return (validation.choice("category", category, Category),)
    return (*Category, TESTED) if include_tested else tuple(Category)


def own_slices(principal: Principal) -> tuple[OwnerFilter, ...]:
    """The user's own memories: nobody else's, and nothing that is shared."""
    access.require_user(principal)
    if not access.reads_entries(principal):
        raise Forbidden("Only the user reads these memories. A service or admin key may act for them.")
    return access.user_slices(principal)


def told_slices(principal: Principal) -> tuple[OwnerFilter, ...]:
    """The same as far as they are told without being asked for: of the profiles that recall and lists show. Raises
    Forbidden likewise.
    """
    own_slices(principal)
    return tuple(part for part in access.shown_slices(principal) if part.user is not None)
