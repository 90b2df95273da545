"""The ledger of what was erased, as it is read and as a file. `platform.erased_names` says how it names things."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any

from memorist.erasure.values import Erased, ErasureKind, ErasureStatus, Receipt, Verification
from memorist.errors import InvalidField, InvalidId, InvalidJson
from memorist.ids import parse_id
from memorist.ingestion.values import Document
from memorist.platform import validation
from memorist.platform.erased_names import DOCUMENT, MEMORY, USER, document_entry, memory_id_of
from memorist.ports import Reader, Store
from memorist.times import from_iso, to_iso

FORMAT = "memorist-ledger"
VERSION = 1
_PAGE = 500
_KINDS = (MEMORY, DOCUMENT, USER)
_HEX = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")


def erased_ids(store: Store, receipt: Receipt) -> Iterator[list[str]]:
    """The ids of the memories that an erasure removed, a page at a time."""
    for page in erased_entries(store, receipt, MEMORY):
        yield [memory_id_of(entry.id) for entry in page]


def erased_entries(store: Store, receipt: Receipt, kind: str) -> Iterator[list[Erased]]:
    after = ""
    while page := store.read(receipt.tenant, partial(_page, receipt.id, kind, after)):
        yield page
        after = page[-1].id


def _page(receipt_id: str, kind: str, after: str, tx: Reader) -> list[Erased]:
    return tx.ledger.of_receipt(receipt_id, kind, after, _PAGE)


# As lines of JSON


def ledger_lines(store: Store, tenant: str | None = None) -> Iterator[str]:
    """The ledger of a tenant, or of all: a header, then each erasure that is done, followed by what it erased.

    Resets are left out: what they took may come back.
    """
    yield json.dumps({"format": FORMAT, "version": VERSION})
    for name in [one.id for one in store.list_tenants()] if tenant is None else [tenant]:
        before: str | None = None
        while page := store.read(name, partial(_receipts, before)):
            for receipt in page:
                if receipt.status is ErasureStatus.DONE and receipt.kind is not ErasureKind.RESET:
                    yield json.dumps({"tenant": name, "receipt": receipt_to_record(receipt)})
                    for kind in _KINDS:
                        for entries in erased_entries(store, receipt, kind):
                            yield from (json.dumps({"erased": _entry_to_record(entry)}) for entry in entries)
            before = page[-1].id


def _receipts(before: str | None, tx: Reader) -> list[Receipt]:
    return tx.receipts.page(before, _PAGE)


def read_ledger(lines: Iterable[str]) -> Iterator[tuple[Receipt, list[Erased]]]:
    """The erasures of a ledger, each with what it erased. Raises InvalidField with the line's number."""
    receipt: Receipt | None = None
    entries: list[Erased] = []
    for number, line in enumerate(lines, start=1):
        try:
            record = _object(line)
            if number == 1:
                if (record.get("format"), record.get("version")) != (FORMAT, VERSION):
                    raise InvalidField(f"This is no ledger: the first line must be {FORMAT}, version {VERSION}.")
            elif "receipt" in record:
                if receipt is not None:
                    yield receipt, entries
                receipt = receipt_from_record(record["receipt"], validation.tenant_name(record["tenant"]))
                entries = []
            elif receipt is not None:
                entries.append(_entry_from_record(record["erased"], receipt))
        except (KeyError, TypeError, ValueError, InvalidField, InvalidId, InvalidJson) as error:
            raise InvalidField(f"Line {number} of the ledger cannot be read: {error}", field="ledger") from error
    if receipt is not None:
        yield receipt, entries


def receipt_to_record(receipt: Receipt) -> dict[str, Any]:
    """A receipt as JSON, for whoever keeps it."""
    verification = None
    if receipt.verification is not None:
        verification = {**asdict(receipt.verification), "checked_at": to_iso(receipt.verification.checked_at)}
    return {
        "id": receipt.id,
        "tenant": receipt.tenant,
        "kind": receipt.kind,
        "status": receipt.status,
        "asked_by": dict(receipt.asked_by),
        "subject": receipt.subject,
        "salt": receipt.salt,
        "started_at": to_iso(receipt.started_at),
        "due_at": to_iso(receipt.due_at),
        "finished_at": None if receipt.finished_at is None else to_iso(receipt.finished_at),
        "counts": dict(receipt.counts),
        "verification": verification,
        "remains": list(receipt.remains),
    }


def receipt_from_record(record: Mapping[str, Any], tenant: str | None = None) -> Receipt:
    """Raises InvalidField where the record is not what `receipt_to_record` writes."""
    try:
        verification = record["verification"]
        return Receipt(
            id=parse_id("rcpt", record["id"]),
            tenant=validation.tenant_name(tenant or record["tenant"]),
            kind=ErasureKind(record["kind"]),
            status=ErasureStatus(record["status"]),
            asked_by=dict(record["asked_by"]),
            salt=validation.text("salt", record["salt"], longest=64),
            started_at=from_iso(record["started_at"]),
            due_at=from_iso(record["due_at"]),
            subject=validation.text("subject", record["subject"], longest=64, empty=True),
            counts={str(table): int(count) for table, count in record["counts"].items()},
            verification=verification and Verification.known(verification, from_iso(verification["checked_at"])),
            remains=tuple(map(str, record["remains"])),
            finished_at=_moment(record["finished_at"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidField(f"This is no receipt: {error!r}.", field="receipt") from error


def _moment(text: str | None) -> datetime | None:
    return None if text is None else from_iso(text)


def _entry_to_record(entry: Erased) -> dict[str, Any]:
    return {"kind": entry.kind, "id": entry.id, "salt": entry.salt, "erased_at": to_iso(entry.erased_at)}


def _entry_from_record(record: Mapping[str, Any], receipt: Receipt) -> Erased:
    if record["kind"] not in _KINDS or not _HEX.fullmatch(record["id"]):
        raise InvalidField("It holds the kind and the id of what was erased.")
    return Erased(record["kind"], record["id"], str(record["salt"]), receipt.id, from_iso(record["erased_at"]))


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidJson("This line is not JSON.") from error
    if not isinstance(value, dict):
        raise InvalidJson("This line is not a JSON object.")
    return value


def erased_documents(entries: Sequence[Erased], document: Document) -> bool:
    """Whether a document is among those of the ledger; one that was uploaded since is another."""
    known = {entry.id for entry in entries if entry.erased_at >= document.updated_at}
    salts = {entry.salt for entry in entries}
    return any(document_entry(salt, document.owner, document.id) in known for salt in salts)
