"""Export and import: everything a caller sees, as JSON records, one a line, streamed."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from memorist.core import access
from memorist.core.records import event_from_record, event_to_record, memory_from_record, memory_to_record
from memorist.errors import Forbidden, InvalidField, InvalidId, InvalidJson
from memorist.model import Event, Memory, Owner, OwnerFilter, Principal
from memorist.ports import Reader, Store, Writer

FORMAT = "memorist-export"
VERSION = 1
_BATCH = 200


@dataclass(slots=True)
class ImportReport:
    """What an import did, row by row."""

    imported: int = 0
    already_there: int = 0
    conflicting: int = 0
    shared: int = 0


class Transfer:
    def __init__(self, store: Store) -> None:
        self._store = store

    def export(self, principal: Principal) -> Iterator[str]:
        """Lines of JSON: a header, then each visible memory of any status with its events, in id order.

        Importing them into an empty tenant and exporting again gives the same lines.
        """
        yield json.dumps({"format": FORMAT, "version": VERSION})
        slices = access.visible_slices(principal)
        after = ""
        while batch := self._store.read(principal.tenant, partial(_read_batch, slices, after)):
            for memory, events in batch:
                line = {"memory": memory_to_record(memory), "events": [event_to_record(event) for event in events]}
                yield json.dumps(line, ensure_ascii=False)
            after = batch[-1][0].id

    def import_(self, principal: Principal, lines: Iterable[str]) -> Iterator[ImportReport]:
        """Write what an export holds, batch by batch, yielding the report so far after each.

        A memory whose id exists is left alone, so that an import can be repeated. One whose name or text belongs to
        another active memory is counted as conflicting, one that the whole tenant shares, where the caller may not
        write those, as shared. Raises InvalidField or Forbidden with the line's number; batches before it are stored.
        """
        access.require(principal, access.Action.WRITE)
        report = ImportReport()
        batch: list[tuple[Memory, list[Event]]] = []
        for memory, events in self._parse(principal, lines):
            if memory.owner == Owner() and not access.allows(principal, access.Action.SHARE):
                report.shared += 1
                continue
            batch.append((memory, events))
            if len(batch) == _BATCH:
                self._write(principal, batch, report)
                yield report
                batch = []
        self._write(principal, batch, report)
        yield report

    def _parse(self, principal: Principal, lines: Iterable[str]) -> Iterator[tuple[Memory, list[Event]]]:
        number = 0
        for number, line in enumerate(lines, start=1):
            if number == 1:
                _check_header(line)
            elif line.strip():
                try:
                    yield self._parse_line(principal, line)
                except (InvalidField, InvalidId, InvalidJson) as error:
                    raise InvalidField(f"Line {number}: {error.message}", field=error.field) from error
                except Forbidden as error:
                    raise Forbidden(f"Line {number}: {error.message}") from error
        if number == 0:
            _check_header("{}")

    def _parse_line(self, principal: Principal, line: str) -> tuple[Memory, list[Event]]:
        record = _json_object(line)
        if not isinstance(record.get("memory"), dict) or not isinstance(record.get("events"), list):
            raise InvalidField("A line holds a `memory` and its `events`.")
        memory = memory_from_record(record["memory"], principal.tenant)
        if memory.owner != Owner():
            access.require_writable(principal, memory.owner)
        if not all(isinstance(event, dict) for event in record["events"]):
            raise InvalidField("Each event is an object.", field="events")
        events = [event_from_record(event, memory.id) for event in record["events"]]
        if not any(event.event_type == "created" for event in events):
            events.insert(0, Event(memory.id, "created", "import", memory.created_at, principal.user))
        return memory, events

    def _write(self, principal: Principal, batch: Sequence[tuple[Memory, list[Event]]], report: ImportReport) -> None:
        def work(tx: Writer) -> tuple[int, int, int]:
            there = {memory.id for memory in tx.get_memories([memory.id for memory, _ in batch])}
            imported = 0
            for memory, events in batch:
                if memory.id not in there and tx.insert_memory(memory):
                    tx.append_events(events)
                    there.add(memory.id)
                    imported += 1
            known = sum(memory.id in there for memory, _ in batch) - imported
            return imported, known, len(batch) - imported - known

        imported, there, conflicting = self._store.write(principal.tenant, work)
        report.imported += imported
        report.already_there += there
        report.conflicting += conflicting


def _read_batch(slices: Sequence[OwnerFilter], after: str, tx: Reader) -> list[tuple[Memory, list[Event]]]:
    """The next memories in id order, each with its events as they were at the same moment."""
    found = [memory for part in slices for memory in tx.scan_memories(part, after, _BATCH)]
    batch = sorted(found, key=lambda memory: memory.id)[:_BATCH]
    trails: dict[str, list[Event]] = defaultdict(list)
    for event in tx.list_events([memory.id for memory in batch]):
        trails[event.memory_id].append(event)
    return [(memory, trails[memory.id]) for memory in batch]


def _check_header(line: str) -> None:
    header = _json_object(line)
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        raise InvalidField(f"This is no Memorist export: the first line must be {FORMAT}, version {VERSION}.")


def _json_object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidJson("This line is not JSON.") from error
    if not isinstance(value, dict):
        raise InvalidJson("This line is not a JSON object.")
    return value
