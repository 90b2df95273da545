"""Documents and whole tool outputs as rows."""

import json
from hashlib import blake2b

from memorist.ingestion.values import Document, DocumentPosition
from memorist.memories.values import Memory
from memorist.platform.values import Owner, OwnerFilter
from memorist.store.rows import (
    document_from_row,
    document_to_parameters,
    memory_from_row,
    owner_parameters,
    slice_parameters,
)
from memorist.store.tenant_statements import TenantStatements

# After every id that a caller may give: names in any script, of which none is as long.
_AFTER_ALL = "\U0010ffff" * 200


class DocumentStatements(TenantStatements):
    """One tenant's documents, inside a transaction."""

    __slots__ = ()

    def get(self, owner: Owner, document_id: str) -> Document | None:
        rows = self._rows("get_document", **owner_parameters(owner), id=document_id)
        return document_from_row(rows[0]) if rows else None

    def find(self, owner: OwnerFilter, document_id: str) -> Document | None:
        rows = self._rows("find_document_of", id=document_id, **slice_parameters(owner))
        return document_from_row(rows[0]) if rows else None

    def find_titled(self, owner: Owner, title: str) -> Document | None:
        rows = self._rows("find_document", **owner_parameters(owner), title=title)
        return document_from_row(rows[0]) if rows else None

    def page(
        self, owner: OwnerFilter, after: Document | DocumentPosition | None, limit: int, *, whole: bool
    ) -> list[Document]:
        position = ("", "", "") if after is None else (after.id, after.owner.user or "", after.owner.agent or "")
        rows = self._rows(
            "list_documents",
            after_id=position[0],
            after_user=position[1],
            after_agent=position[2],
            characters=2**31 - 1 if whole else 0,
            limit=limit,
            **slice_parameters(owner),
        )
        return [document_from_row(row) for row in rows]

    def latest(self, owner: OwnerFilter, before: DocumentPosition | None, limit: int) -> list[Document]:
        position = (_AFTER_ALL, "", "") if before is None else (before.id, before.owner.user, before.owner.agent)
        rows = self._rows(
            "latest_documents",
            before_id=position[0],
            before_user=position[1] or "",
            before_agent=position[2] or "",
            limit=limit,
            **slice_parameters(owner),
        )
        return [document_from_row(row) for row in rows]

    def chunks_of(self, document: Document) -> list[Memory]:
        owner = document.owner
        rows = self._rows("chunks_of", **owner_parameters(owner), document_id=document.id)
        return [memory_from_row(row) for row in rows]

    def lock(self, owner: Owner, document_id: str) -> Document | None:
        rows = self._rows("lock_document", **owner_parameters(owner), id=document_id)
        return document_from_row(rows[0]) if rows else None

    def hold(self, owner: Owner, *, document_id: str = "", title: str = "") -> None:
        name = json.dumps([self._tenant, owner.user, owner.agent, document_id, title])
        key = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)
        self._rows("hold_document_name", key=key)

    def put(self, document: Document) -> None:
        self._run("put_document", **document_to_parameters(document))

    def erase(self, document: Document) -> None:
        owner = document.owner
        self._run("erase_document", **owner_parameters(owner), id=document.id)


class ToolOutputStatements(TenantStatements):
    """What tools returned in full, inside a transaction."""

    __slots__ = ()

    def get(self, memory_id: str) -> str | None:
        rows = self._rows("get_tool_output", memory_id=memory_id)
        return rows[0][0] if rows else None

    def insert(self, memory_id: str, content: str) -> None:
        self._run("insert_tool_output", memory_id=memory_id, content=content)
