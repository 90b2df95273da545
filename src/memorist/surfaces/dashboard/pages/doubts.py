"""Facts in doubt: pairs that somebody is to decide, what was retired lately, and what was decided to stay."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.responses import Response

from memorist.errors import Forbidden
from memorist.facts.doubts import decisions
from memorist.facts.values import DoubtStatus, InDoubt, Ruling, Supersession
from memorist.memories.values import Memory
from memorist.platform import access
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.word_diff import DiffPiece, side_by_side
from memorist.surfaces.dashboard.wording import say, to_say

pages = Pages()

PAGE = f"{HOME}/doubts"
_PER_PAGE = 20
_TABS = {"open": to_say("To decide"), "retired": to_say("Retired lately"), "kept": to_say("Both kept")}


@dataclass(frozen=True, slots=True)
class DoubtPair:
    """Two facts side by side, the older one first. `newer` is None where what replaced it is gone."""

    id: str
    older: Memory
    newer: Memory | None
    older_pieces: list[DiffPiece]
    newer_pieces: list[DiffPiece]
    reason: str
    judge: str
    confidence: float | None
    at: datetime
    decisions: frozenset[DoubtStatus] = frozenset()
    """What the visitor may decide about it, and take back."""
    may_restore: bool = False
    say_the_same: bool = False

    @property
    def both_active(self) -> bool:
        return self.newer is not None and self.older.status == self.newer.status == "active"


@pages.get("/doubts")
def show(visit: Visit) -> Response:
    tab = visit.query.get("show", "open")
    tab = tab if tab in _TABS else "open"
    pairs, next_cursor = _listed(visit, tab, visit.query.get("cursor") or None)
    more = f"{_address(tab)}&cursor={next_cursor}" if next_cursor else None
    context: dict[str, Any] = {"tab": tab, "pairs": pairs, "more": more, "page": PAGE}
    if visit.is_partial:
        return visit.part("parts/doubt_items.html", **context)
    tabs = [(name, label, _address(name)) for name, label in _TABS.items()]
    return visit.page("doubts.html", section="doubts", tabs=tabs, is_first="cursor" not in visit.query, **context)


def first_open(visit: Visit, most: int) -> list[DoubtPair]:
    """The newest pairs that somebody is to decide."""
    return [_doubted(visit, pair) for pair in visit.core.facts.in_doubt(visit.principal, limit=most).items]


@pages.post("/doubts/confirm")
def confirm(visit: Visit) -> Response:
    pair = visit.core.facts.confirm(visit.principal, visit.text("id"))
    return _settled(visit, say("The older fact is retired."), pair.other, undo=pair.doubt.id)


@pages.post("/doubts/refute")
def refute(visit: Visit) -> Response:
    pair = visit.core.facts.refute(visit.principal, visit.text("id"))
    return _settled(visit, say("The newer fact is retired."), pair.fact, undo=pair.doubt.id)


@pages.post("/doubts/dismiss")
def dismiss(visit: Visit) -> Response:
    pair = visit.core.facts.dismiss(visit.principal, visit.text("id"))
    return _settled(visit, say("Both facts stay, and the two are not judged again."), pair.fact, undo=pair.doubt.id)


@pages.post("/doubts/reopen")
def reopen(visit: Visit) -> Response:
    """Take back what was decided: the pair is to be decided again."""
    pair = visit.core.facts.reopen(visit.principal, visit.text("id"))
    if visit.is_partial:
        return visit.part("parts/doubt_items.html", tab="open", pairs=[_doubted(visit, pair)], more=None, page=PAGE)
    return visit.redirect(PAGE, toast=Toast(say("The decision is taken back: the two are in doubt again.")))


@pages.post("/doubts/restore")
def restore(visit: Visit) -> Response:
    """Bring back a retired fact, beside what took its place."""
    # By the way that indexes it, too.
    fact = visit.core.retention.restore(visit.principal, visit.text("id"))
    return _settled(visit, say("It is active again, beside the other, and the two are not judged again."), fact)


def _settled(visit: Visit, text: str, fact: Memory, *, undo: str | None = None) -> Response:
    if visit.is_partial:
        return visit.part("parts/doubt_settled.html", text=text, fact=fact, undo=undo, page=PAGE)
    tab = "open" if undo else "retired"
    toast = Toast(text, undo=f"{PAGE}/reopen", ids=(undo,)) if undo else Toast(text)
    return visit.redirect(_address(tab), toast=toast)


def _listed(visit: Visit, tab: str, cursor: str | None) -> tuple[list[DoubtPair], str | None]:
    facts = visit.core.facts
    if tab == "retired":
        retired = facts.retired(visit.principal, limit=_PER_PAGE, cursor=cursor)
        return [_retired(visit, one) for one in retired.items], retired.next_cursor
    status = DoubtStatus.OPEN if tab == "open" else DoubtStatus.DISMISSED
    doubts = facts.in_doubt(visit.principal, status=status, limit=_PER_PAGE, cursor=cursor)
    return [_doubted(visit, one) for one in doubts.items], doubts.next_cursor


def _doubted(visit: Visit, pair: InDoubt) -> DoubtPair:
    older, newer = side_by_side(pair.other.content, pair.fact.content)
    doubt, verdict = pair.doubt, pair.verdict
    return DoubtPair(
        doubt.id,
        pair.other,
        pair.fact,
        older,
        newer,
        doubt.reason,
        doubt.judge,
        confidence=None if verdict is None else verdict.confidence,
        at=doubt.created_at if doubt.status is DoubtStatus.OPEN else doubt.updated_at,
        decisions=decisions(visit.principal, pair),
        say_the_same=verdict is not None and verdict.ruling is Ruling.SAME,
    )


def _retired(visit: Visit, one: Supersession) -> DoubtPair:
    older, newer = side_by_side(one.retired.content, one.by.content if one.by is not None else "")
    return DoubtPair(
        one.retired.id,
        one.retired,
        one.by,
        older,
        newer,
        one.reason,
        one.judge,
        one.confidence,
        one.at,
        may_restore=_may_change(visit, one.retired),
    )


def _may_change(visit: Visit, memory: Memory) -> bool:
    try:
        access.require_changeable(visit.principal, memory)
    except Forbidden:
        return False
    return True


def _address(tab: str) -> str:
    return f"{PAGE}?show={tab}"
