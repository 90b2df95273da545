"""Export and import: everything a caller sees, as JSON records, one a line, streamed."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from memorist.erasure.documents import as_held
from memorist.errors import Forbidden, InvalidField, InvalidId, InvalidJson
from memorist.ids import parse_id
from memorist.ingestion.records import document_from_record, document_to_record
from memorist.ingestion.values import Document
from memorist.memories import policies, writing
from memorist.memories.earlier import told_events
from memorist.memories.entries import note_reading
from memorist.memories.fields import SECRETS
from memorist.memories.hashes import with_own_hashes
from memorist.memories.policy import Policy
from memorist.memories.records import event_from_record, event_to_record, memory_from_record, memory_to_record
from memorist.memories.rows import MemoryRows, clash_key, existing_like
from memorist.memories.values import Kind, Memory, Retention, Status
from memorist.platform import access, acts, validation
from memorist.platform.acts import ActKind
from memorist.platform.redaction import Redaction, counted
from memorist.platform.validation import MAX_TOOL_OUTPUT
from memorist.platform.values import Event, Owner, OwnerFilter, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock
from memorist.transfer.erased import Gone
from memorist.transfer.histories import require_readable
from memorist.transfer.values import EVERYTHING, Chosen, ExportLine

FORMAT = "memorist-export"
VERSION = 1
_COUNT = "lines"
_BATCH = 200
_DOCUMENTS = 20


@dataclass(slots=True)
class ImportReport:
    """What an import did, row by row, and whether the policy that came along was set or left. `incomplete` is 1 where
    lines are missing of what the export says that it has, `uncounted` where it is of a build that said nothing of it.
    """

    imported: int = 0
    already_there: int = 0
    conflicting: int = 0
    shared: int = 0
    erased: int = 0
    policy_set: int = 0
    policy_left: int = 0
    incomplete: int = 0
    uncounted: int = 0


def chosen(kinds: Iterable[str] | None = None, since: datetime | None = None, until: datetime | None = None) -> Chosen:
    """What a caller asks an export for; without kinds it is all of them. Raises InvalidField."""
    given = Kind if kinds is None else validation.each("kinds", kinds)
    wanted = frozenset(validation.choice("kinds", kind, Kind) for kind in given) or frozenset(Kind)
    moments = {"since": since, "until": until}
    return Chosen(wanted, *(None if at is None else validation.moment(name, at) for name, at in moments.items()))


class Transfer:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        redaction: Redaction,
        rows: MemoryRows,
        index: Callable[[str, list[Memory]], None],
    ) -> None:
        """`index` is told what was imported, once that is durable."""
        self._store = store
        self._rows = rows
        self._clock = clock
        self._redaction = redaction
        self._index = index

    def export_some(self, principal: Principal, memory_ids: Iterable[str]) -> Iterator[str]:
        """The same of these memories alone, as far as the caller sees them, without documents. Raises InvalidId."""
        wanted = {parse_id("mem", one) for one in memory_ids}

        def work(tx: Reader) -> list[_Exported]:
            return _with_trails(tx, sorted(tx.memories.get_many(sorted(wanted)), key=lambda one: one.id))

        found = self._store.read(principal.tenant, work)
        is_held = self._holding(principal)
        yield from _counted(self._lines(principal, [one for one in found if is_held(one[0])]))

    def export(self, principal: Principal, chosen: Chosen = EVERYTHING) -> Iterator[str]:
        """Lines of JSON: a header, then each visible memory with its events, in id order, deleted ones where the caller
        may restore them, and how many lines there are. Where it is the whole tenant, the policy that it has set goes
        before them.

        Importing them into an empty tenant and exporting again gives the same lines.
        """
        yield from _counted(self._chosen_lines(principal, chosen))

    def _chosen_lines(self, principal: Principal, chosen: Chosen) -> Iterator[str]:
        if chosen == EVERYTHING and _looks_after_all(principal):
            policy = self._store.read(principal.tenant, lambda tx: tx.policies.get(), snapshot=False)
            if policy is not None:
                yield json.dumps({"policy": policies.policy_to_record(policy.policy)})
        slices = access.exported_slices(principal)
        is_held = self._holding(principal)
        after = ""
        while batch := self._store.read(principal.tenant, partial(_read_batch, slices, after)):
            wanted = [one for one in batch if one[0].kind in chosen.kinds and chosen.has(one[0].created_at)]
            yield from self._lines(principal, [one for one in wanted if is_held(one[0])])
            after = batch[-1][0].id
        for part in slices if Kind.DOCUMENT_CHUNK in chosen.kinds else ():
            yield from self._export_documents(principal, part, chosen)

    def _holding(self, principal: Principal) -> Callable[[Memory], bool]:
        """Which memories an export for the caller holds: what is deleted or past its time where it may restore that."""
        now = self._clock.now()
        slices = {in_use: access.exported_slices(principal, in_use=in_use) for in_use in (True, False)}
        return lambda memory: access.is_among(slices[memory.is_in_use(now)], memory)

    def _lines(self, principal: Principal, batch: Sequence["_Exported"]) -> Iterator[str]:
        note_reading(self._store, principal, [memory for memory, _, _ in batch], self._clock.now())
        for memory, events, payload in batch:
            told = told_events(principal, memory, events)
            line = {"memory": memory_to_record(memory), "events": [event_to_record(event) for event in told]}
            yield json.dumps(line if payload is None else line | {"tool_output": payload}, ensure_ascii=False)

    def _export_documents(self, principal: Principal, part: OwnerFilter, chosen: Chosen) -> Iterator[str]:
        after: Document | None = None
        while page := self._store.read(principal.tenant, partial(_read_documents, part, after)):
            for document in page:
                if not chosen.has(document.updated_at):
                    continue
                yield json.dumps({"document": document_to_record(document)}, ensure_ascii=False)
            after = page[-1]

    def import_(self, principal: Principal, lines: Iterable[str], *, after: int = 0) -> Iterator[ImportReport]:
        """Write what an export holds, batch by batch, yielding the report so far after each.

        A memory whose id exists is left alone, so that an import can be repeated. One whose name or text belongs to
        another active memory, or whose document is here in a later version, is counted as conflicting, one that the
        whole tenant shares, where the caller may not write those, as shared, and one that was erased here, and so is
        not written again, as erased. What all profiles of a user share by its name is written for the caller's profile
        where it may not share. The policy is set where an admin imports into a tenant without one and without memories.
        Raises InvalidField or Forbidden with the line's number; batches before it are stored. `after` counts lines
        that came between the first and the second of these, and are not here.
        """
        chunks: set[str] = set()
        yield from self._go_through(principal, lines, partial(self._write, chunks), after)

    def preview(self, principal: Principal, lines: Iterable[str]) -> Iterator[ImportReport]:
        """What `import_` would report, where nothing is written. Raises as it does."""
        seen: set[str] = set()
        taken: set[tuple[Owner, str]] = set()
        yield from self._go_through(principal, lines, partial(self._compare, seen, taken))

    def _go_through(
        self,
        principal: Principal,
        lines: Iterable[str],
        take: Callable[[Principal, list[ExportLine], ImportReport], None],
        after: int = 0,
    ) -> Iterator[ImportReport]:
        access.require(principal, access.Action.WRITE)
        report = ImportReport()
        batch: list[ExportLine] = []
        for line in self._writable(principal, self._parse(principal, lines, after, report), report):
            batch.append(line)
            if len(batch) == _BATCH:
                take(principal, batch, report)
                yield report
                batch = []
        take(principal, batch, report)
        yield report

    def _writable(
        self, principal: Principal, lines: Iterable[ExportLine], report: ImportReport
    ) -> Iterator[ExportLine]:
        """The lines as the caller may write them."""
        may_share = access.allows(principal, access.Action.SHARE)
        common: list[ExportLine] = []
        for line in lines:
            if may_share or not _is_shared(line):
                yield line
            elif line.memory is None or line.owner != Owner(principal.user) or principal.user is None:
                report.shared += 1
            else:
                own = replace(line.memory, owner=access.usual_profile(principal))
                common.append(line._replace(memory=own))
        # Last, so that what the profile has under the same name comes before what all of them were shown.
        yield from common

    def _parse(
        self, principal: Principal, lines: Iterable[str], after: int, report: ImportReport
    ) -> Iterator[ExportLine]:
        number = missing = 0
        is_counted = False
        for number, line in enumerate(validation.each("lines", lines), start=1):
            validation.kind_of("lines", line, str, "texts")
            if number == 1:
                is_counted = check_header(line)
                missing = int(is_counted)
            elif line.strip():
                try:
                    parsed = self._parse_line(principal, line)
                except (InvalidField, InvalidId, InvalidJson) as error:
                    raise InvalidField(f"Line {number + after}: {error.message}", field=error.field) from error
                except Forbidden as error:
                    raise Forbidden(f"Line {number + after}: {error.message}") from error
                if parsed.of_lines is None:
                    yield parsed
                else:
                    missing = max(parsed.of_lines - number - after, 0)
        if number == 0:
            check_header("{}")
        report.incomplete, report.uncounted = int(missing > 0), int(not is_counted)

    def _parse_line(self, principal: Principal, line: str) -> ExportLine:
        record = _json_object(line)
        if record.keys() == {_COUNT}:
            return ExportLine(of_lines=validation.integer(_COUNT, record[_COUNT]))
        if record.keys() == {"policy"} and isinstance(record["policy"], dict):
            return ExportLine(policy=policies.changed(Policy(), record["policy"]))
        if "policy" in record:
            raise InvalidField("A line with a `policy` holds nothing else.", field="policy")
        if isinstance(record.get("document"), dict):
            document = document_from_record(record["document"])
            if document.owner != Owner():
                access.require_writable(principal, document.owner)
            return ExportLine(document=self._document_without_secrets(document))
        if not isinstance(record.get("memory"), dict) or not isinstance(record.get("events"), list):
            raise InvalidField(
                "A line holds a `memory` and its `events`, a `document`, a `policy`, or how many `lines` there are."
            )
        memory = memory_from_record(record["memory"], principal.tenant)
        if memory.owner.has_name:
            access.require_writable(principal, memory.owner)
        if not all(isinstance(event, dict) for event in record["events"]):
            raise InvalidField("Each event is an object.", field="events")
        events = [event_from_record(event, memory.id) for event in record["events"]]
        for event in events:
            require_readable(event)
        if not any(event.event_type == "created" for event in events):
            events.insert(0, Event(memory.id, "created", "import", memory.created_at, principal.user))
        payload = record.get("tool_output")
        if payload is not None:
            validation.text("tool_output", payload, longest=MAX_TOOL_OUTPUT, empty=True)
        return self._without_secrets(principal, ExportLine(memory, events, payload))

    def _without_secrets(self, principal: Principal, line: ExportLine) -> ExportLine:
        """An export may come from where nothing was redacted. What is taken out is told by an event."""
        memory: Memory = line.memory
        values = {name: getattr(memory, name) for name in SECRETS}
        changed, found = self._redaction.fields(values, SECRETS)
        payload = None if line.payload is None else self._redaction.found(line.payload)
        events = [replace(event, payload=self._redaction.json(event.payload)) for event in line.events]
        for event in events:
            self._redaction.refuse("actor", event.actor)
            self._redaction.refuse("source", event.source)
        rules = Counter(found) + Counter(counted(payload.findings if payload else ()))
        if rules:
            told = {"rules": dict(rules)}
            events.append(Event(memory.id, "redacted", principal.source, self._clock.now(), principal.user, told))
        if changed:
            memory = with_own_hashes(replace(memory, **changed))
        return ExportLine(memory, events, None if payload is None else payload.text)

    def _document_without_secrets(self, document: Document) -> Document:
        self._redaction.refuse("id", document.id)
        self._redaction.refuse("media_type", document.media_type)
        title = self._redaction.text(document.title)[: validation.MAX_LINE]
        content = self._redaction.text(document.content)
        validation.text("content", content, longest=validation.MAX_DOCUMENT)
        return replace(document, title=title, content=content)

    def _compare(
        self,
        seen: set[str],
        taken: set[tuple[Owner, str]],
        principal: Principal,
        batch: Sequence[ExportLine],
        report: ImportReport,
    ) -> None:
        """`seen` are the ids of the lines before, and `taken` the names and texts that would be here by now."""
        memories: list[Memory] = [line.memory for line in batch if line.memory is not None]
        documents: list[Document] = [line.document for line in batch if line.document is not None]

        def work(tx: Reader) -> None:
            there = {memory.id for memory in tx.memories.get_many([one.id for one in memories])}
            adopted, left = _policy_in(principal, batch, tx)
            gone = Gone.of(tx, batch, (adopted or self._rows.policy(tx)).derived_facts)
            for one in memories:
                if gone.has_memory(one):
                    report.erased += 1
                elif one.id in there or one.id in seen:
                    report.already_there += 1
                elif _is_outdated(tx, one) or _is_taken(tx, taken, one):
                    report.conflicting += 1
                else:
                    report.imported += 1
                    if one.status is Status.ACTIVE:
                        taken.add((one.owner, clash_key(one)))
                seen.add(one.id)
            report.erased += sum(gone.has_document(one) for one in documents)
            report.policy_set += adopted is not None
            report.policy_left += left is not None

        self._store.read(principal.tenant, work)

    def _write(self, chunks: set[str], principal: Principal, batch: Sequence[ExportLine], report: ImportReport) -> None:
        """`chunks` are those of documents that this import brought so far."""
        memories = [line for line in batch if line.memory is not None]
        find_policy = partial(_policy_in, principal, batch)

        def work(tx: Writer) -> tuple[list[Memory], int, int, int, bool, bool]:
            adopted, left = find_policy(tx)
            if adopted is not None:
                policies.adopt(tx, principal, adopted, self._clock.now())
            there = {memory.id for memory in tx.memories.get_many([line.memory.id for line in memories])}
            gone = Gone.of(tx, batch, self._rows.policy(tx).derived_facts)
            known = refused = documents = 0
            imported: list[Memory] = []
            for line in memories:
                if gone.has_memory(line.memory):
                    refused += 1
                elif line.memory.id in there:
                    known += 1
                elif not _is_outdated(tx, line.memory) and writing.insert(tx, (kept := gone.cut(line)).memory):
                    tx.events.append(kept.events)
                    if line.payload is not None:
                        tx.tool_outputs.insert(line.memory.id, line.payload)
                    there.add(line.memory.id)
                    imported.append(kept.memory)
            brought = chunks | {memory.id for memory in imported}
            for line in batch:
                if line.document is None:
                    continue
                if gone.has_document(line.document):
                    documents += 1
                else:
                    self._put_document(tx, principal, line.document, brought)
            if any(memory.retention is Retention.POLICY for memory in imported):
                policies.ask_for_deadlines(tx)
            return imported, known, refused, documents, adopted is not None, left is not None

        # What kind of an act it is must be known before its transaction begins.
        if any(line.policy for line in batch) and self._store.read(principal.tenant, find_policy)[0] is not None:
            acts.mark(ActKind.POLICY)
        imported, known, refused, documents, is_set, is_left = self._store.write(principal.tenant, work)
        chunks.update(memory.id for memory in imported if memory.kind is Kind.DOCUMENT_CHUNK)
        report.imported += len(imported)
        report.already_there += known
        report.erased += refused + documents
        report.conflicting += len(memories) - len(imported) - known - refused
        report.policy_set += is_set
        report.policy_left += is_left
        self._index(principal.tenant, imported)

    def _put_document(self, tx: Writer, principal: Principal, document: Document, brought: Collection[str]) -> None:
        """Write a document unless it is here as new or newer; of an older one the chunks go, as when it is uploaded.

        Chunks that the import brought stay as the export has them: an older one may have been restored. Of those that
        were erased here and did not come, the text does not come either, and without any chunk no document does.
        """
        tx.documents.hold(document.owner, document_id=document.id)
        here = tx.documents.get(document.owner, document.id)
        if here is not None:
            chunks = tx.documents.chunks_of(document)
            is_whole = any(map(document.holds, chunks))
            # An export that was taken during an upload has a text without its chunks.
            if here.updated_at >= document.updated_at or not is_whole:
                return
            old = [one for one in chunks if not document.holds(one) and one.id not in brought]
            self._rows.retire(tx, principal, old, "replaced")
        held = as_held(tx, document)
        if held is not None:
            tx.documents.put(held if held.chunks < document.chunks else document)


def _is_shared(line: ExportLine) -> bool:
    """Whether it is the whole tenant's, or all profiles' of a user."""
    name = None if line.memory is None else line.memory.name
    return line.owner is not None and access.is_shared(line.owner, name)


def _is_taken(tx: Reader, taken: Collection[tuple[Owner, str]], memory: Memory) -> bool:
    """Whether its name or text belongs to another active memory, or is among those taken."""
    key = clash_key(memory)
    if memory.status is not Status.ACTIVE or not key:
        return False
    return (memory.owner, key) in taken or existing_like(tx, memory) is not None


def _is_outdated(tx: Reader, memory: Memory) -> bool:
    """Whether it is a chunk of a document that is here in a later version."""
    if memory.kind is not Kind.DOCUMENT_CHUNK or memory.status is not Status.ACTIVE or memory.source_ref is None:
        return False
    document = tx.documents.get(memory.owner, memory.source_ref)
    return document is not None and not document.holds(memory)


def _looks_after_all(principal: Principal) -> bool:
    """Whether the whole tenant is the caller's to move."""
    return access.allows(principal, access.Action.ADMINISTER) and principal.user is None and principal.agent is None


def _policy_in(principal: Principal, batch: Sequence[ExportLine], tx: Reader) -> tuple[Policy | None, Policy | None]:
    """The policy among the lines that is to be set here, or the one that is not, where it says anything new."""
    policy = next((line.policy for line in batch if line.policy is not None), None)
    here = tx.policies.get()
    if policy is None or (here is not None and here.policy == policy):
        return None, None
    return (policy, None) if _looks_after_all(principal) and policies.may_adopt(tx) else (None, policy)


def _read_documents(part: OwnerFilter, after: Document | None, tx: Reader) -> list[Document]:
    return tx.documents.page(part, after, _DOCUMENTS, whole=True)


_Exported = tuple[Memory, list[Event], str | None]


def _read_batch(slices: Sequence[OwnerFilter], after: str, tx: Reader) -> list[_Exported]:
    """The next memories in id order, each with its events as they were at the same moment."""
    found = [memory for part in slices for memory in tx.memories.scan(part, after, _BATCH)]
    return _with_trails(tx, sorted(found, key=lambda memory: memory.id)[:_BATCH])


def _with_trails(tx: Reader, batch: Sequence[Memory]) -> list[_Exported]:
    trails: dict[str, list[Event]] = defaultdict(list)
    for event in tx.events.of([memory.id for memory in batch]):
        trails[event.memory_id].append(event)
    return [
        (memory, trails[memory.id], tx.tool_outputs.get(memory.id) if memory.kind is Kind.TOOL_OUTPUT else None)
        for memory in batch
    ]


def check_header(line: str) -> bool:
    """Whether the export ends with how many lines it has. Raises InvalidField or InvalidJson where it is not the first
    line of one.
    """
    header = _json_object(line)
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        raise InvalidField(f"This is no Memorist export: the first line must be {FORMAT}, version {VERSION}.")
    return header.get("counted") is True


def _counted(lines: Iterable[str]) -> Iterator[str]:
    """The lines of an export after its first and before its last one: cut off anywhere, it shows that it is."""
    count = 2
    yield json.dumps({"format": FORMAT, "version": VERSION, "counted": True})
    for line in lines:
        yield line
        count += 1
    yield json.dumps({_COUNT: count})


def _json_object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidJson("This line is not JSON.") from error
    if not isinstance(value, dict):
        raise InvalidJson("This line is not a JSON object.")
    return value
