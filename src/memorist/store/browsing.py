"""Walks over one slice and state of memories, and what they can be narrowed down by."""

from datetime import datetime
from typing import Any

from memorist.store.rows import breadth_of, slice_parameters, state_parameters
from memorist.store.tenant_statements import TenantStatements
from memorist.times import to_micros
from memorist.views.values import BrowseCandidate, BrowseOrder, BrowsePosition, FacetRow, ProjectRow, Stretch, Walk

# Before and after every row, in the order of their times.
_EARLIEST = BrowsePosition(-(2**31), -(2**62), "")

_LATEST = BrowsePosition(2**31 - 1, 2**62, "~")

# By order and breadth: what says where a span ends, and what reads it. An agent's own order by importance is the
# user's: few have any.
_STATEMENTS = {
    (BrowseOrder.NEWEST, "owner"): ("edge_newest_of_owner", "browse_newest_of_owner"),
    (BrowseOrder.NEWEST, "user"): ("edge_newest_of_user", "browse_newest_of_user"),
    (BrowseOrder.NEWEST, "tenant"): ("edge_newest_of_tenant", "browse_newest_of_tenant"),
    (BrowseOrder.OLDEST, "owner"): ("edge_oldest_of_owner", "browse_oldest_of_owner"),
    (BrowseOrder.OLDEST, "user"): ("edge_oldest_of_user", "browse_oldest_of_user"),
    (BrowseOrder.OLDEST, "tenant"): ("edge_oldest_of_tenant", "browse_oldest_of_tenant"),
    (BrowseOrder.IMPORTANCE, "owner"): ("edge_importance_of_user", "browse_importance_of_user"),
    (BrowseOrder.IMPORTANCE, "user"): ("edge_importance_of_user", "browse_importance_of_user"),
    (BrowseOrder.IMPORTANCE, "tenant"): ("edge_importance_of_tenant", "browse_importance_of_tenant"),
}

_FIRST = FacetRow("", "", "", "", "", "", 0)


class BrowsingStatements(TenantStatements):
    """One tenant's memories looked through, inside a transaction."""

    __slots__ = ()

    def walk(
        self, walk: Walk, after: BrowsePosition | None, now: datetime, *, span: int, limit: int, texts: bool
    ) -> Stretch:
        start, end = (_EARLIEST, _LATEST) if walk.order is BrowseOrder.OLDEST else (_LATEST, _EARLIEST)
        find_edge, read_span = _STATEMENTS[walk.order, breadth_of(walk.owner)]
        after = after or _beginning(walk) or start
        parameters = {**slice_parameters(walk.owner), **_position("after", after)}
        edges = self._rows(find_edge, span=span - 1, status=walk.status, **parameters)
        edge = BrowsePosition(*edges[0]) if edges else None
        rows = self._rows(
            read_span,
            **state_parameters(walk.status, walk.ended, walk.archiving),
            # A TTL ends what is in use; what is deleted has left it behind.
            now=to_micros(now) if walk.status.in_use else 0,
            most_importance=walk.most_importance,
            kind=walk.kind,
            category=walk.category,
            trust=walk.trust,
            project=walk.project,
            session=walk.session,
            since=_EARLIEST.created_at if walk.since is None else to_micros(walk.since),
            before=_LATEST.created_at if walk.before is None else to_micros(walk.before),
            pattern=walk.pattern,
            texts=int(texts),
            limit=limit,
            **parameters,
            **_position("until", edge or end),
        )
        found = tuple(BrowseCandidate(BrowsePosition(*row[:3]), *row[3:]) for row in rows)
        if len(found) == limit:
            return Stretch(found, found[-1].position)
        return Stretch(found, None if edge is None or _is_past(walk, edge) else edge)

    def count_facets(
        self,
        user: str | None,
        after: FacetRow | None,
        now: datetime,
        limit: int,
        *,
        any_user: bool,
        entries: bool = True,
    ) -> list[FacetRow]:
        position = after or _FIRST
        rows = self._rows(
            "count_facets_of_tenant" if any_user else "count_facets_of_user",
            user_id=user or "",
            now=to_micros(now),
            after_user=position.user,
            after_status=position.status,
            after_kind=position.kind,
            after_category=position.category,
            after_trust=position.trust,
            after_agent=position.agent,
            limit=limit,
            entries=int(entries),
        )
        return [FacetRow(*row) for row in rows]

    def next_project(self, user: str | None, after: ProjectRow, *, any_user: bool) -> ProjectRow | None:
        statement = "next_project_of_tenant" if any_user else "next_project_of_user"
        start = {f"after_{name}": value for name, value in after._asdict().items()}
        rows = self._rows(statement, user_id=user or "", **start)
        return ProjectRow(*rows[0]) if rows else None


def _beginning(walk: Walk) -> BrowsePosition | None:
    """Before the first row of a walk that a moment bounds at its beginning."""
    if walk.order is BrowseOrder.NEWEST and walk.before is not None:
        return BrowsePosition(0, to_micros(walk.before), "")
    if walk.order is BrowseOrder.OLDEST and walk.since is not None:
        return BrowsePosition(0, to_micros(walk.since) - 1, _LATEST.id)
    return None


def _is_past(walk: Walk, position: BrowsePosition) -> bool:
    """Whether what comes after a position is outside the walk's bounds."""
    if walk.order is BrowseOrder.NEWEST:
        return walk.since is not None and position.created_at < to_micros(walk.since)
    return (
        walk.order is BrowseOrder.OLDEST and walk.before is not None and position.created_at >= to_micros(walk.before)
    )


def _position(name: str, position: BrowsePosition) -> dict[str, Any]:
    return {f"{name}_importance": position.importance, f"{name}_time": position.created_at, f"{name}_id": position.id}
