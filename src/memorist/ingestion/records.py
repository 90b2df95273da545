"""Documents as plain JSON records: the format of exports."""

from collections.abc import Mapping
from typing import Any

from memorist.errors import InvalidField
from memorist.ingestion.values import Document
from memorist.memories.records import bounded
from memorist.platform import validation
from memorist.platform.values import Owner
from memorist.times import from_iso, to_iso


def document_to_record(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "user": document.owner.user,
        "agent": document.owner.agent,
        "title": document.title,
        "media_type": document.media_type,
        "content": document.content,
        "chunks": document.chunks,
        "created_at": to_iso(document.created_at),
        "updated_at": to_iso(document.updated_at),
    }


def document_from_record(record: Mapping[str, Any]) -> Document:
    """Raises InvalidField where the record is not what `document_to_record` writes."""
    try:
        return Document(
            id=validation.identifier("id", record["id"]),
            owner=validation.owner(Owner(record["user"], record["agent"])),
            title=validation.text("title", record["title"], longest=validation.MAX_LINE, one_line=True),
            media_type=validation.text("media_type", record["media_type"], longest=validation.MAX_LINE, one_line=True),
            content=validation.text("content", record["content"], longest=validation.MAX_DOCUMENT),
            chunks=validation.integer("chunks", record["chunks"]),
            created_at=bounded(from_iso(record["created_at"])),
            updated_at=bounded(from_iso(record["updated_at"])),
        )
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise InvalidField("A document needs all of its fields.", field="document") from error
