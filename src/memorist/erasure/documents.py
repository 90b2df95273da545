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
from memorist.ports import Writer

_MOST = 2**31 - 1


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
        ids = tx.surroundings.list_chunk_ids(owner, document_id, _MOST)
        left = [chunk for page in in_pages(ids) for chunk in tx.memories.get_many(page)]
        left = list(filter(document.holds, left))
        if left:
            tx.documents.put(replace(document, content=_only_of(document.content, left), chunks=len(left)))
        else:
            erase_document(tx, receipt, document, now)


def _only_of(text: str, chunks: Sequence[Memory]) -> str:
    """A text of which what is in none of the chunks is blank, so that these are still found where they say."""
    kept: list[str] = []
    at = 0
    for start, end in sorted(_span(chunk, len(text)) for chunk in chunks):
        kept += (" " * (start - at), text[max(at, start) : end])
        at = max(at, end)
    return "".join(kept).ljust(len(text))


def _span(chunk: Memory, longest: int) -> tuple[int, int]:
    """Where a chunk is; nowhere, where it does not say so: an import brings any metadata."""
    edges = [(chunk.meta or {}).get(name) for name in ("start", "end")]
    start, end = (min(max(edge, 0), longest) if isinstance(edge, int) else 0 for edge in edges)
    return start, max(start, end)
