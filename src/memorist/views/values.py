"""What is browsed and counted, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import NamedTuple

from memorist.memories.values import Kind, Memory, Status, Trust
from memorist.platform.paging import Page
from memorist.platform.values import Owner, OwnerFilter


@dataclass(frozen=True, slots=True)
class KindCount:
    """How many memories there are of a state and a kind."""

    status: Status
    kind: Kind
    count: int


class DayCount(NamedTuple):
    """How many memories of a kind were written on a day (UTC), and are still there."""

    day: date
    kind: Kind
    memories: int


@dataclass(frozen=True, slots=True)
class OwnerCount:
    """An owner, how many active memories they have, and when the last of those was written."""

    owner: Owner
    count: int
    newest_at: datetime | None


class BrowseOrder(StrEnum):
    """How browsing sorts. By importance, what has none comes last, newest first."""

    NEWEST = "newest"
    OLDEST = "oldest"
    IMPORTANCE = "importance"


@dataclass(frozen=True, slots=True)
class Browse:
    """What to browse. Every word of `text` must occur; '' as a category or an agent means those without one.

    With `fuzzy`, a word may have one letter that is wrong, missing, too many or in its neighbour's place.
    """

    text: str = ""
    statuses: tuple[Status, ...] = (Status.ACTIVE,)
    agent: str | None = None
    category: str | None = None
    kind: Kind | None = None
    trust: Trust | None = None
    project: str | None = None
    session: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    fuzzy: bool = False
    order: BrowseOrder = BrowseOrder.NEWEST


class BrowsePosition(NamedTuple):
    """A position in the order of a walk; the time in microseconds."""

    importance: int
    created_at: int
    id: str


@dataclass(frozen=True, slots=True)
class Walk:
    """One slice and state in one order. `pattern` is for LIKE, with `!` before what is literal; None fits no ASCII.

    With `ended`, of that state what is past its own time and a sweep brings into this one; `archiving` are the kinds
    that the policy archives.
    """

    owner: OwnerFilter
    status: Status
    order: BrowseOrder = BrowseOrder.NEWEST
    ended: Status | None = None
    archiving: frozenset[Kind] = frozenset()
    pattern: str | None = "%"
    category: str | None = None
    kind: Kind | None = None
    trust: Trust | None = None
    project: str | None = None
    session: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    most_importance: int = 2**31 - 1


class BrowseCandidate(NamedTuple):
    """A row that may fit a text; `content` is '' where no text is looked for."""

    position: BrowsePosition
    name: str
    description: str | None
    content: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was found on a part of a walk. `end` is where it stopped; None where the walk is over."""

    candidates: tuple[BrowseCandidate, ...]
    end: BrowsePosition | None


@dataclass(frozen=True, slots=True)
class BrowsedPage(Page[Memory]):
    """A page of what was browsed. With a `next_cursor` it goes on, even where the page is not full, or empty:
    `reached` is then the time up to which was looked.
    """

    reached: datetime | None = None


class SessionKey(NamedTuple):
    """A session of a user, '' for nobody; its last memory, and when that was said; None where it is not asked for."""

    user: str
    session: str
    last_id: str
    said_at: datetime | None = None


class ProjectRow(NamedTuple):
    """A project of which there are memories of that agent in that state; '' for what is absent."""

    user: str = ""
    project: str = ""
    agent: str = ""
    status: str = ""


class FacetRow(NamedTuple):
    """How many memories there are of one combination; '' for what is absent."""

    user: str
    status: str
    kind: str
    category: str
    trust: str
    agent: str
    memories: int


@dataclass(frozen=True, slots=True)
class Facets:
    """What can be narrowed down to: by name, the values and how many memories each has while the others stay as chosen.

    `is_complete`: False where there was more to count than time; the counts are then lower bounds.
    """

    counts: Mapping[str, Mapping[str, int]]
    projects: tuple[str, ...]
    is_complete: bool
