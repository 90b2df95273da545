"""What a list of memories is asked for, all of which its address carries, and what it can be narrowed down to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urlencode

from memorist.errors import InvalidField
from memorist.memories.governance import is_editable
from memorist.memories.kinds import KINDS
from memorist.memories.values import Kind, Memory, Status, Trust
from memorist.platform import validation
from memorist.surfaces.dashboard.pages.memory_snippets import SnippetPiece, snippet_of
from memorist.surfaces.dashboard.visits import HOME
from memorist.surfaces.dashboard.wording import say, to_say
from memorist.views.browsing import LASTING
from memorist.views.conversations import is_of_a_tool, said_at, speaker_of
from memorist.views.values import Browse, BrowseOrder, Facets

ADDRESS = f"{HOME}/memories"

STATES: dict[str, tuple[Status, ...]] = {
    "active": (Status.ACTIVE,),
    "archived": (Status.ARCHIVED,),
    "deleted": (Status.SOFT_DELETED, Status.HARD_DELETE_PENDING),
    "all": LASTING,
}
_STATE_NAMES = {
    "active": to_say("Active"),
    "archived": to_say("Archived"),
    "deleted": to_say("Deleted"),
    "all": to_say("All"),
}
SORTS = {
    BrowseOrder.NEWEST: to_say("Newest first"),
    BrowseOrder.OLDEST: to_say("Oldest first"),
    BrowseOrder.IMPORTANCE: to_say("Most important first"),
}
# With a blank in it, which neither a profile nor a category has.
NO_PROFILE = to_say("no profile")
NO_TYPE = to_say("no type")
ANY_KIND = "any"

_KINDS: dict[str, str] = {kind: rules.one for kind, rules in KINDS.items()}
_STATUSES = {
    Status.SOFT_DELETED: (to_say("deleted"), "warn"),
    Status.HARD_DELETE_PENDING: (to_say("past recovery"), "bad"),
}
_SHOWN = 8
# Of these it is told who said them, and when.
_SAID = (Kind.CHAT_MESSAGE, Kind.TOOL_OUTPUT)


@dataclass(frozen=True, slots=True)
class ListView:
    """A list as its address asks for it. Without another word it is of facts and what people wrote down: messages and
    chunks are many, and have pages of their own. What was put away is there in every kind, or it would be nowhere.
    """

    text: str = ""
    state: str = "active"
    profile: str = ""
    type: str = ""
    kind: str = Kind.FACT
    trust: str = ""
    project: str = ""
    session: str = ""
    since: str = ""
    until: str = ""
    near: str = ""
    sort: str = BrowseOrder.NEWEST

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "ListView":
        given = query.get("state", "active")
        state = given if given in STATES else "active"
        kind = query.get("kind", _usual_kind(state))
        return cls(
            text=" ".join(query.get("q", "").split()),
            state=state,
            profile=query.get("profile", ""),
            type=query.get("type", ""),
            kind="" if kind == ANY_KIND else kind,
            trust=query.get("trust", ""),
            project=query.get("project", ""),
            session=query.get("session", ""),
            since=query.get("since", ""),
            until=query.get("until", ""),
            near=query.get("near", ""),
            sort=query.get("sort", "") or BrowseOrder.NEWEST,
        )

    @property
    def browse(self) -> Browse:
        """The same for the core. Raises InvalidField."""
        return Browse(
            text=self.text,
            statuses=STATES[self.state],
            agent="" if self.profile == NO_PROFILE else self.profile or None,
            category="" if self.type == NO_TYPE else self.type or None,
            kind=validation.choice("kind", self.kind, Kind) if self.kind else None,
            trust=validation.choice("trust", self.trust, Trust) if self.trust else None,
            project=self.project or None,
            session=self.session or None,
            since=_day("since", self.since),
            before=_day("until", self.until, after=1),
            fuzzy=self.near == "1",
            order=validation.choice("sort", self.sort, BrowseOrder),
        )

    @property
    def is_narrowed(self) -> bool:
        return self != ListView(state=self.state, kind=_usual_kind(self.state), sort=self.sort)

    def kind_in(self, state: str) -> str:
        """The kind that stays chosen in another state: where it is the usual one, that state's."""
        return _usual_kind(state) if self.kind == _usual_kind(self.state) else self.kind

    @property
    def is_counted(self) -> bool:
        """Whether the counts of what it can be narrowed down to tell what is shown."""
        return not (self.text or self.project or self.session or self.since or self.until)

    def address(self, cursor: str | None = None) -> str:
        """The address of this list, or of its next page, without what is as usual."""
        said = {
            "q": self.text,
            "state": "" if self.state == "active" else self.state,
            "profile": self.profile,
            "type": self.type,
            "kind": "" if self.kind == _usual_kind(self.state) else self.kind or ANY_KIND,
            "trust": self.trust,
            "project": self.project,
            "session": self.session,
            "since": self.since,
            "until": self.until,
            "near": self.near,
            "sort": "" if self.sort == BrowseOrder.NEWEST else self.sort,
            "cursor": cursor or "",
        }
        query = urlencode({name: value for name, value in said.items() if value})
        return f"{ADDRESS}?{query}" if query else ADDRESS


def _usual_kind(state: str) -> str:
    return Kind.FACT if state == "active" else ""


def _day(name: str, said: str, *, after: int = 0) -> datetime | None:
    """Where a day (UTC) begins, or one so many days after it. Raises InvalidField."""
    if not said:
        return None
    try:
        return datetime.combine(date.fromisoformat(said), time.min, UTC) + timedelta(days=after)
    except (ValueError, OverflowError):
        raise InvalidField.of(name, say("must be a day, such as 2027-05-08.")) from None


@dataclass(frozen=True, slots=True)
class Choice:
    value: str
    label: str
    count: int | None
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Group:
    """One thing to narrow down by: the choices that most memories have, and the rest."""

    name: str
    label: str
    choices: tuple[Choice, ...]
    rest: tuple[Choice, ...]
    is_chosen: bool


def state_of(view: ListView, name: str, facets: Facets) -> Choice:
    """A state to choose; `facets` are counted for the kind that is shown in it."""
    counts = facets.counts["state"]
    # What was not counted in time is not zero.
    is_known = view.is_counted and facets.is_complete
    count = sum(counts.get(status, 0) for status in STATES[name]) if is_known else None
    return Choice(name, say(_STATE_NAMES[name]), count, view.state == name)


def groups_of(view: ListView, facets: Facets) -> tuple[Group, ...]:
    """What there is to choose from; a group with nothing to choose is left out."""
    kinds = {kind: say(name) for kind, name in _KINDS.items()}
    trusts = {trust.value: say(trust.value) for trust in Trust}
    groups = (
        _group(
            view,
            "profile",
            say("Profile"),
            view.profile,
            facets.counts["profile"],
            {"": NO_PROFILE},
            {"": say(NO_PROFILE)},
        ),
        _group(view, "type", say("Type"), view.type, facets.counts["category"], {"": NO_TYPE}, {"": say(NO_TYPE)}),
        _group(view, "kind", say("Kind"), view.kind, facets.counts["kind"], {}, kinds),
        _group(view, "trust", say("Said by"), view.trust, facets.counts["trust"], {}, trusts),
    )
    # Any kind is a choice too, and kept while others are made.
    return tuple(group for group in groups if group.is_chosen or len(group.choices) > 1 or group.name == "kind")


def _group(
    view: ListView,
    name: str,
    label: str,
    chosen: str,
    counts: Mapping[str, int],
    values: Mapping[str, str],
    labels: Mapping[str, str],
) -> Group:
    found = {values.get(value, value): (labels.get(value, value), count) for value, count in counts.items()}
    if chosen and chosen not in found:
        found[chosen] = (chosen, 0)
    ordered = sorted(found.items(), key=lambda item: (-item[1][1], item[0]))
    choices = [
        Choice(value, text, count if view.is_counted else None, value == chosen) for value, (text, count) in ordered
    ]
    # What is chosen is never hidden.
    shown = [one for index, one in enumerate(choices) if index < _SHOWN or one.is_chosen]
    return Group(name, label, tuple(shown), tuple(one for one in choices if one not in shown), bool(chosen))


# A row


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """A memory as the list shows it."""

    memory: Memory
    pieces: tuple[SnippetPiece, ...]
    kind: str
    state: str
    tone: str

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def title(self) -> str:
        """What it is called: by its name, or where it stands in a document."""
        return self.memory.name or " › ".join(self.memory.meta_texts("heading_path") or ())

    @property
    def is_editable(self) -> bool:
        return self.memory.status is Status.ACTIVE and is_editable(self.memory)

    @property
    def speaker(self) -> str:
        is_said = self.memory.kind in _SAID
        return spoken_by(self.memory) if is_said else say(self.memory.trust)

    @property
    def at(self) -> datetime:
        """What was said is dated by when it was said, all else by when it was stored."""
        return said_at(self.memory) if self.memory.kind in _SAID else self.memory.created_at


def row_of(memory: Memory, view: ListView | None = None) -> MemoryLine:
    view = view or ListView()
    state, tone = _STATUSES.get(memory.status, (str(memory.status), "good" if memory.status is Status.ACTIVE else ""))
    pieces = snippet_of(memory.content, view.text, fuzzy=view.near == "1")
    return MemoryLine(memory, pieces, say(_KINDS[memory.kind]), state, tone)


def spoken_by(memory: Memory) -> str:
    """Who said it, or what; in words where no name is known."""
    return speaker_of(memory) or (say("a tool") if is_of_a_tool(memory) else say("somebody"))
