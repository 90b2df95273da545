"""Documents looked at: listed, read with their chunks marked, and uploaded with what changed since the last time."""

import re
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from memorist.documents import media_type_of
from memorist.errors import InvalidField
from memorist.ids import parse_id
from memorist.ingestion.service import Ingestion, StoredDocument
from memorist.ingestion.values import Document, DocumentPosition
from memorist.memories.values import Memory
from memorist.platform import access, validation
from memorist.platform.paging import Cursors, Page, page_of
from memorist.platform.values import Owner, Principal
from memorist.ports import Reader, Store

_CURSORS: Cursors[DocumentPosition] = Cursors(
    "latest documents",
    lambda last: (last.id, last.owner.user or "", last.owner.agent or ""),
    lambda document_id, user, agent: DocumentPosition(
        validation.identifier("document_id", document_id), validation.owner(Owner(user or None, agent or None))
    ),
)
# So many files are in memory at a time; others wait.
_IN_MEMORY = threading.Semaphore(2)
_CHUNKS = 40
_CHUNKS_BEFORE = 3
_BLANK_LINES = re.compile(r"\n\s*\n")


class DocumentSegment(NamedTuple):
    """A part of a document's text, and the chunk that has it; None where no memory does. `repeats` is how many
    characters before it the chunk has as well.
    """

    text: str
    chunk: Memory | None
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A stretch of a document in its order."""

    document: Document
    segments: tuple[DocumentSegment, ...]
    first: str | None
    """The first of its chunks, where others are before it."""
    last: str | None
    """The last of its chunks, where others come after it."""


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """What an upload did; `new` and `gone` are the paragraphs that only one of two versions has."""

    stored: StoredDocument
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


class DocumentViews:
    def __init__(self, store: Store, ingestion: Ingestion) -> None:
        self._store = store
        self._ingestion = ingestion

    def page(self, principal: Principal, *, limit: int = 20, cursor: str | None = None) -> Page[Document]:
        """Documents that the caller sees, without their texts, the last ids first, which are the newest unless their
        writers named them. Raises InvalidField or InvalidCursor.
        """
        validation.page_limit(limit, largest=validation.MAX_DOCUMENT_PAGE)
        before = _CURSORS.decode(cursor)

        def work(tx: Reader) -> list[Document]:
            slices = access.visible_slices(principal)
            found = [one for part in slices for one in tx.documents.latest(part, before, limit + 1)]
            return sorted(found, key=lambda one: (one.id, one.owner.user or "", one.owner.agent or ""), reverse=True)

        found = self._store.read(principal.tenant, work)
        return page_of(found, limit, lambda last: _CURSORS.encode(DocumentPosition(last.id, last.owner)))

    def read(
        self,
        principal: Principal,
        document_id: str,
        *,
        near: str | None = None,
        after: str | None = None,
        before: str | None = None,
    ) -> DocumentPart:
        """A stretch of a document: its beginning, what is after or before a chunk, or a chunk with what is around it.

        Raises NotFound, InvalidField or InvalidId.
        """
        near, after, before = (None if one is None else parse_id("mem", one) for one in (near, after, before))
        document = self._ingestion.get_document(principal, document_id)

        def work(tx: Reader) -> tuple[list[Memory], list[Memory], bool]:
            read = tx.surroundings.document_chunks
            start = after or ""
            if near is not None:
                around = read(document, _CHUNKS_BEFORE + 1, before=near)
                start = around[0].id if len(around) > _CHUNKS_BEFORE else ""
            chunks = read(document, _CHUNKS, before=before) if before else read(document, _CHUNKS, after=start)
            if not chunks:
                return [], [], False
            earlier = read(document, 1, before=chunks[0].id)
            return earlier, chunks, bool(read(document, 1, after=chunks[-1].id))

        earlier, chunks, has_later = self._store.read(principal.tenant, work)
        begins = _edge(earlier[-1], "end", 0) if earlier else 0
        segments = tuple(_segments(document.content, chunks, begins, to_the_end=not has_later))
        first = chunks[0].id if earlier else None
        return DocumentPart(document, segments, first, chunks[-1].id if has_later else None)

    def upload(self, principal: Principal, name: str, file: BinaryIO, *, shared: bool) -> UploadedFile:
        """Store a file under its name, in place of the one that was uploaded under it before.

        Raises InvalidField where such a file is not read, Forbidden or StoreError.
        """
        media_type = media_type_of(name)
        if media_type is None:
            raise InvalidField.of("name", "has no ending of a file that is read.")
        validation.text("title", name, longest=validation.MAX_LINE, one_line=True)
        # Whether the caller may is decided where it is stored.
        owner = access.document_owner(principal, shared, users_share=True)
        before = self._store.read(principal.tenant, lambda tx: tx.documents.find_titled(owner, name))
        with _IN_MEMORY:
            stored = self._ingestion.add_document(
                principal, title=name, content=file.read(), media_type=media_type, shared=shared
            )
        if before is None or not stored.changed:
            return UploadedFile(stored)
        old, new = _paragraphs(before.content), _paragraphs(stored.document.content)
        return UploadedFile(stored, new=_without(new, old), gone=_without(old, new))


def _segments(text: str, chunks: Sequence[Memory], begins: int, *, to_the_end: bool) -> list[DocumentSegment]:
    """The text from a place on, each character once, with what is no chunk's between the chunks and after the last."""
    found: list[DocumentSegment] = []
    at = begins
    for chunk in chunks:
        start, end = _edge(chunk, "start", at), _edge(chunk, "end", at)
        found.append(DocumentSegment(text[at:start], None))
        begin = max(at, start)
        found.append(DocumentSegment(text[begin:end], chunk, max(0, begin - start)))
        at = max(at, end)
    if to_the_end:
        found.append(DocumentSegment(text[at:], None))
    return [one for one in found if one.text.strip()]


def _edge(chunk: Memory, name: str, default: int) -> int:
    value = chunk.meta_whole(name)
    return default if value is None else value


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in _BLANK_LINES.split(text) if part.strip()]


def _without(these: Sequence[str], those: Sequence[str]) -> tuple[str, ...]:
    """What the first have more often than the second, in its order."""
    left = Counter(those)
    found = []
    for one in these:
        if left[one] > 0:
            left[one] -= 1
        else:
            found.append(one)
    return tuple(found)
