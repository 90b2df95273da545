"""What a store keeps of documents and payloads."""

from typing import Protocol

from memorist.ingestion.values import Document, DocumentPosition
from memorist.memories.values import Memory
from memorist.platform.values import Owner, OwnerFilter


class DocumentReads(Protocol):
    """Texts that were uploaded whole."""

    def get(self, owner: Owner, document_id: str) -> Document | None: ...

    def find(self, owner: OwnerFilter, document_id: str) -> Document | None:
        """A document of a slice."""
        ...

    def find_titled(self, owner: Owner, title: str) -> Document | None: ...

    def page(
        self, owner: OwnerFilter, after: Document | DocumentPosition | None, limit: int, *, whole: bool
    ) -> list[Document]:
        """Documents of a slice in the order of their ids and owners; their `content` is '' unless they are `whole`."""
        ...

    def latest(self, owner: OwnerFilter, before: DocumentPosition | None, limit: int) -> list[Document]:
        """Documents of a slice without their `content`, in the reverse order of `page`."""
        ...

    def chunks_of(self, document: Document) -> list[Memory]:
        """The active chunks of a document, in their order."""
        ...


class DocumentWrites(DocumentReads, Protocol):
    """The same in a transaction that writes."""

    def lock(self, owner: Owner, document_id: str) -> Document | None:
        """A document that nobody else changes until this transaction ends."""
        ...

    def hold(self, owner: Owner, *, document_id: str = "", title: str = "") -> None:
        """Wait for whoever else holds this id or this title of an owner, and hold it until this transaction ends:
        also where there is no such document yet. Who needs both holds the title first.
        """
        ...

    def put(self, document: Document) -> None:
        """Write a document, over the one of its id and owner."""
        ...

    def erase(self, document: Document) -> None:
        """Remove the document itself; its chunks are memories."""
        ...


class ToolOutputReads(Protocol):
    """Whole payloads of tool outputs."""

    def get(self, memory_id: str) -> str | None:
        """The whole payload, where the memory shows only a part of it."""
        ...


class ToolOutputWrites(ToolOutputReads, Protocol):
    """The same in a transaction that writes."""

    def insert(self, memory_id: str, content: str) -> None: ...
