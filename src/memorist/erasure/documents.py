"""What documents hold of chunks that were removed: a document's text is that of its chunks, and goes as they do."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from memorist.erasure.naming import in_pages
from memorist.erasure.receipts import add_counts
from memorist.erasure.values import Erased, Receipt
from memorist.ingestion.values import Document
from memorist.memories.values import Kind, Memory
from memorist.platform.erased_names import DOCUMENT, document_entry
from memorist.platform.values import Owner
from memorist.ports import Reader, Writer

_MOST = 2**31 - 1
# So many characters around the place that a chunk names it is looked for.
_REACH = 100_000


def erase_document(tx: Writer, receipt: Receipt, document: Document, now: datetime) -> None:
    """Remove a document without its chunks, and tell the ledger and the receipt."""
    tx.documents.erase(document)
    digest = document_entry(receipt.salt, document.owner, document.id)
    tx.ledger.insert([Erased(DOCUMENT, digest, receipt.salt, receipt.id, now)])
    add_counts(tx, receipt, {"documents": 1})


def cut_documents(tx: Writer, receipt: Receipt, removed: Iterable[Memory], now: datetime) -> None:
    """Take the text of removed chunks out of their documents; one that has no chunk left goes too."""
    by_document: dict[tuple[Owner, str], list[Memory]] = defaultdict(list)
    for memory in removed:
        if memory.kind is Kind.DOCUMENT_CHUNK and memory.source_ref:
            by_document[memory.owner, memory.source_ref].append(memory)
    # In one order, so that two who cut the same wait for each other in one direction.
    for owner, document_id in sorted(by_document, key=lambda one: (one[1], one[0].user or "", one[0].agent or "")):
        document = tx.documents.lock(owner, document_id)
        if document is None or not any(map(document.holds, by_document[owner, document_id])):
            continue
        left = as_held(tx, document)
        if left is None:
            erase_document(tx, receipt, document, now)
        else:
            tx.documents.put(left)


def as_held(tx: Reader, document: Document) -> Document | None:
    """What a document is where only the chunks that are here count, whatever their state; None where there is none."""
    ids = tx.surroundings.list_chunk_ids(document.owner, document.id, _MOST)
    chunks = [chunk for page in in_pages(ids) for chunk in tx.memories.get_many(page)]
    held = list(filter(document.holds, chunks))
    return replace(document, content=_only_of(document.content, held), chunks=len(held)) if held else None


def _only_of(text: str, chunks: Sequence[Memory]) -> str:
    """A text of which what is in none of the chunks is blank, so that these are still found where they are."""
    kept: list[str] = []
    at = moved = 0
    for begin, chunk in sorted(((_begin_of(one, len(text)), one) for one in chunks), key=lambda one: one[0]):
        start = _nearest(text, chunk.content, begin + moved)
        if start is None:
            continue
        moved, end = start - begin, start + len(chunk.content)
        kept += (" " * (start - at), text[max(at, start) : end])
        at = max(at, end)
    return "".join(kept).ljust(len(text))


def _nearest(text: str, part: str, about: int) -> int | None:
    """Where a part stands in a text, as near as can be to where it is looked for. An import that took a secret out of
    the text moved what comes after it.
    """
    if about >= 0 and text.startswith(part, about):
        return about
    first, last = max(about - _REACH, 0), max(about, 0) + len(part) + _REACH
    before = text.rfind(part, first, max(about, 0) + len(part))
    after = text.find(part, max(about, 0), last)
    return min((one for one in (before, after) if one >= 0), key=lambda one: abs(one - about), default=None)


def _begin_of(chunk: Memory, longest: int) -> int:
    """Where a chunk says that it begins: an import brings any metadata."""
    return min(max(chunk.meta_whole("start") or 0, 0), longest)
