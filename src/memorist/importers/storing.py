"""Storing what a parser finds: checked as a whole before anything is written, and without doubles."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from memorist.errors import InvalidField, NotFound
from memorist.importers.items import Found, SkippedItem, Taken
from memorist.memories.fields import check_draft
from memorist.memories.service import Memories
from memorist.memories.values import Draft, Kind, Memory, Remembered
from memorist.platform import access
from memorist.platform.values import Principal
from memorist.secrets import redact

_Write = Callable[[Principal, list[Draft]], list[Remembered]]

# One transaction each.
_AT_ONCE = 100
_PAGE = 100


@dataclass(slots=True)
class Report:
    """What an import did, or would do: how many of each category, and what was left out and why."""

    imported: int = 0
    already_there: int = 0
    names_taken: int = 0
    categories: Counter[str] = field(default_factory=Counter)
    skipped: list[SkippedItem] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    """How many were left out for each."""

    def skip(self, item: SkippedItem) -> None:
        self.skipped.append(item)
        self.reasons[item.reason] += 1

    @property
    def seen(self) -> int:
        return self.imported + self.already_there + len(self.skipped)


def check(found: Iterable[Found]) -> Iterator[Report]:
    """Read all of an export and store nothing: what would be imported, counted as it goes. Raises Invalid."""
    report = Report()
    for one in found:
        checked = _checked(one)
        if isinstance(checked, SkippedItem):
            report.skip(checked)
        else:
            report.imported += 1
            report.categories[_label(checked.draft)] += 1
        yield report


def store(memories: Memories, principal: Principal, found: Iterable[Found]) -> Iterator[Report]:
    """Store what a parser finds for one user, in batches, telling after each how far it is.

    What is there already is left alone, so that it can be repeated. Raises Invalid, Forbidden or StoreError; what was
    told before stays.
    """
    yield from _import(memories, principal, found, memories.remember)


def preview(memories: Memories, principal: Principal, found: Iterable[Found]) -> Iterator[Report]:
    """What `store` would tell, where nothing is stored. Raises as it does."""
    seen: set[str] = set()

    def write(principal: Principal, drafts: list[Draft]) -> list[Remembered]:
        results = []
        for result in memories.preview(principal, drafts):
            key = result.memory.dedup_key
            # What stands in the export twice would be there by then.
            results.append(Remembered(result.memory, was_new=result.was_new and key not in seen))
            seen.add(key)
        return results

    yield from _import(memories, principal, found, write)


def _import(memories: Memories, principal: Principal, found: Iterable[Found], write: _Write) -> Iterator[Report]:
    report = Report()
    known = _Known(memories, principal)
    batch: list[Draft] = []
    for number, one in enumerate(found, start=1):
        checked = _checked(one)
        standing = checked if isinstance(checked, SkippedItem) else known.standing(checked)
        if isinstance(checked, SkippedItem):
            report.skip(checked)
        elif isinstance(standing, SkippedItem):
            report.skip(standing)
            report.names_taken += not isinstance(standing, _Deleted)
        elif standing:
            report.already_there += 1
        else:
            batch.append(checked.draft)
        is_full = len(batch) == _AT_ONCE
        if is_full:
            _count(write(principal, batch), batch, report)
            batch = []
        if is_full or number % _AT_ONCE == 0:
            yield report
    if batch:
        _count(write(principal, batch), batch, report)
    yield report


def _count(results: list[Remembered], batch: list[Draft], report: Report) -> None:
    for result, draft in zip(results, batch, strict=True):
        if result.was_new:
            report.imported += 1
            report.categories[_label(draft)] += 1
        else:
            report.already_there += 1


def _checked(one: Found) -> Found:
    """What can be stored; what cannot is skipped, with the reason."""
    if isinstance(one, SkippedItem):
        return one
    try:
        check_draft(one.draft)
    except InvalidField as error:
        return SkippedItem(one.where, error.message)
    return one


def _label(draft: Draft) -> str:
    return draft.category or draft.kind.value


_Identity = tuple[str | None, ...]


def _identity(memory: Memory) -> _Identity | None:
    """What tells that an export holds a memory that is active no more: a message's source, or anything else's text."""
    if memory.kind is Kind.CHAT_MESSAGE:
        return (memory.kind, memory.session, memory.source_ref) if memory.source_ref is not None else None
    return (memory.kind, memory.name, memory.content_hash)


def _says(text: str, draft: Draft) -> bool:
    """Whether a stored text is the draft's; it may lack a secret that stands in the file."""
    return text in (draft.content, redact(draft.content).text)


class _Deleted(SkippedItem):
    """Something that was here and was deleted."""


class _Known:
    """What is there already and is told apart by more than its text: messages by their source, files by their name; and
    what was here, and would come back.
    """

    def __init__(self, memories: Memories, principal: Principal) -> None:
        self._memories = memories
        self._principal = principal
        self._session: str | None = None
        self._sources: set[str | None] = set()
        self._names: dict[str, str] = {}
        self._retired: dict[_Identity, bool] | None = None

    def standing(self, taken: Taken) -> bool | SkippedItem:
        """Whether it is there already, be it archived or replaced; SkippedItem where something else has its name, or
        where it was deleted.
        """
        return self._formerly(taken) or self._active(taken) or self._gone(taken)

    def _formerly(self, taken: Taken) -> bool | SkippedItem:
        """Whether an earlier version stored it, under the name or category that it gave then."""
        if taken.former is None:
            return False
        former = Taken(taken.former, taken.where)
        if isinstance(_checked(former), SkippedItem):
            return False
        if former.draft.name is None:
            is_there = not self._memories.preview(self._principal, [former.draft])[0].was_new
        else:
            text = self._stored(former.draft, former.draft.name)
            is_there = text is not None and _says(text, former.draft)
        return is_there or self._gone(former)

    def _gone(self, taken: Taken) -> bool | SkippedItem:
        if self._retired is None:
            self._retired = {}
            for memory in self._memories.retired(self._principal):
                if (identity := _identity(memory)) is not None:
                    self._retired[identity] = memory.status.in_use or self._retired.get(identity, False)
        if not self._retired:
            return False
        identity = _identity(self._memories.prepare(self._principal, taken.draft))
        is_in_use = self._retired.get(identity) if identity is not None else None
        if is_in_use is None:
            return False
        self._names.pop(taken.draft.name or "", None)
        # Of an equal one that is active, the write tells.
        if is_in_use or not self._memories.preview(self._principal, [taken.draft])[0].was_new:
            return True
        return _Deleted(taken.where, "It was deleted here, and stays so.")

    def _active(self, taken: Taken) -> bool | SkippedItem:
        draft = taken.draft
        if draft.name is not None:
            return self._named(draft, taken.where)
        if draft.kind is Kind.CHAT_MESSAGE and draft.session is not None:
            self._read(draft.session)
            is_there = draft.source_ref in self._sources
            self._sources.add(draft.source_ref)
            return is_there and draft.source_ref is not None
        return False

    def _named(self, draft: Draft, where: str) -> bool | SkippedItem:
        assert draft.name is not None
        text = self._names.get(draft.name)
        if text is None:
            text = self._stored(draft, draft.name)
        if text is None:
            self._names[draft.name] = draft.content
            return False
        if _says(text, draft):
            return True
        return SkippedItem(where, f"A memory named {draft.name} with another text is here already.")

    def _stored(self, draft: Draft, name: str) -> str | None:
        """The text that has the name where the draft would be written, or one that says the same and is shared."""
        try:
            found = self._memories.find_named(self._principal, name)
        except NotFound:
            return None
        owner = access.writable_owner(self._principal, draft.owner, named=True)
        return found.content if found.owner == owner or _says(found.content, draft) else None

    def _read(self, session: str) -> None:
        """The messages of one conversation stand together in an export, so that one at a time is enough to know."""
        if session == self._session:
            return
        self._session, self._sources, cursor = session, set(), None
        while True:
            page = self._memories.list(
                self._principal, session=session, kind=Kind.CHAT_MESSAGE, limit=_PAGE, cursor=cursor
            )
            self._sources |= {memory.source_ref for memory in page.items}
            cursor = page.next_cursor
            if cursor is None:
                return
