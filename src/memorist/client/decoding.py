"""From the JSON of each API to values."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import httpx2

from memorist.client.values import (
    RemoteDocument,
    RemoteDoubt,
    RemoteFactVersion,
    RemoteHit,
    RemoteMemory,
    RemoteRecalled,
    RemoteRemembered,
    RemoteTurn,
    RemoteTurnEvent,
)
from memorist.facts.values import DoubtStatus
from memorist.ids import parse_id
from memorist.ingestion.service import Message
from memorist.memories.values import Kind, Retention, Status, Trust
from memorist.platform.values import Change, Event
from memorist.times import from_iso
from memorist.turns.values import TurnStatus

Row = Mapping[str, Any]

_TIMES = (
    "created_at", "updated_at", "event_time", "valid_from", "valid_to", "archive_at", "retention_expires_at",
    "expires_at", "deleted_at", "hard_delete_at", "anonymized_at", "last_accessed_at",
)  # fmt: skip
_FIELDS = [field.name for field in fields(RemoteMemory)]


def record(row: Row) -> RemoteMemory:
    """A row of `/v1/records`: every field, in the library's words."""
    values = {**row, "kind": Kind(row["kind"]), "trust": Trust(row["trust"]), "status": Status(row["status"])}
    values["retention"] = Retention(row["retention"])
    for name in _TIMES:
        values[name] = _time(row[name])
    return RemoteMemory(**{name: values[name] for name in _FIELDS})


def profile_memory(row: Row, version: str | None = None) -> RemoteMemory:
    """A row of `/v1/memories`."""
    return RemoteMemory(
        row["id"],
        row["body"],
        user=row["user_id"],
        agent=row["profile_id"],
        category=row["type"],
        name=row["name"],
        description=row["description"],
        importance=row["importance"],
        version=version,
        **_times(row),
    )


def versioned_memory(response: httpx2.Response) -> RemoteMemory:
    """A row of `/v1/memories` with the version that the ETag names."""
    etag = response.headers.get("etag")
    return profile_memory(response.json(), None if etag is None else etag.strip('"'))


def lifecycle_memory(row: Row) -> RemoteMemory:
    """A row of `/memory`."""
    status = Status(row["retention_status"])
    return RemoteMemory(row["id"], row["content"], meta=row["metadata"], status=status, **_times(row))


def companion_memory(row: Row) -> RemoteMemory:
    """A row of `/v1/memory`."""
    return RemoteMemory(
        row["id"], row["text"], category=row["category"], confidence=row["confidence"], meta=row["meta"], **_times(row)
    )


def chunk_memory(row: Row) -> RemoteMemory:
    """A row of `/api/memory`."""
    return RemoteMemory(
        parse_id("mem", row["id"]),
        row["content"],
        created_at=from_iso(row["createdAt"]),
        session=row["sessionId"],
        project=row["projectPath"],
        category=row["chunkType"],
        excerpt=row["sourceExcerpt"],
        relevance=row["relevanceScore"],
        access_count=row["accessCount"],
        last_accessed_at=_time(row["lastAccessedAt"]),
    )


def fact_memory(row: Row) -> RemoteMemory:
    """A row of `/v1/facts`."""
    return RemoteMemory(
        row["id"], row["content"], status=Status(row["status"]), superseded_by=row["superseded_by"], **_times(row)
    )


def fact_version(row: Row) -> RemoteFactVersion:
    return RemoteFactVersion(fact_memory(row), tuple(event(row["id"], one) for one in row["events"]))


def doubt(row: Row) -> RemoteDoubt:
    return RemoteDoubt(
        row["id"],
        DoubtStatus(row["status"]),
        row["reason"],
        row["judge"],
        fact_memory(row["fact"]),
        fact_memory(row["other"]),
        from_iso(row["created_at"]),
        from_iso(row["updated_at"]),
    )


def event(memory_id: str, row: Row) -> Event:
    created_at = from_iso(row["created_at"])
    return Event(memory_id, row["event_type"], row["source"], created_at, row["actor"], row["payload"])


def recalled(response: httpx2.Response) -> RemoteRecalled:
    answer = response.json()
    hits = tuple(_hit(item) for item in answer["items"])
    return RemoteRecalled(hits, answer["degraded"], answer["rerank_used"], answer.get("why_not"))


def _hit(item: Row) -> RemoteHit:
    kind = Kind(item["source_kind"])
    is_message = kind is Kind.CHAT_MESSAGE
    memory = RemoteMemory(
        parse_id("mem", item["id"]),
        item["content"],
        kind=kind,
        session=item["source_ref"] if is_message else None,
        source_ref=None if is_message else item["source_ref"],
        event_time=from_iso(item["event_time"]),
    )
    return RemoteHit(memory, item["score"], item["content"], item.get("explanation"))


def document(row: Row) -> RemoteDocument:
    return RemoteDocument(
        row["document_id"],
        row["title"],
        row["media_type"],
        row.get("content", ""),
        row["chunks"],
        row["shared"],
        from_iso(row["created_at"]),
        from_iso(row["updated_at"]),
    )


def streamed_change(streamed: httpx2.ServerSentEvent) -> Change | None:
    """The change that an event of the stream tells of; None for events of other kinds."""
    if streamed.event == "resync":
        return Change(streamed.id, "resync", "", datetime.now(UTC))
    if streamed.event != "resource_change":
        return None
    row = json.loads(streamed.data)
    return Change(streamed.id, row["action"], parse_id("mem", row["id"]), from_iso(row["at"]))


def turn(row: Row) -> RemoteTurn:
    return RemoteTurn(
        row["id"],
        row["session_id"],
        TurnStatus(row["status"]),
        from_iso(row["created_at"]),
        _time(row["completed_at"]),
        None if row["result"] is None else row["result"]["answer"],
        row["error"],
        row["input_tokens"],
        row["output_tokens"],
        row["cost_usd"],
    )


def turn_event(streamed: httpx2.ServerSentEvent) -> RemoteTurnEvent:
    return RemoteTurnEvent(int(streamed.id), streamed.event, json.loads(streamed.data))


def turn_body(
    messages: Sequence[Message | Mapping[str, Any]], include_memory: bool, session: str | None
) -> dict[str, Any]:
    """A turn as it is asked for."""
    said = [one if isinstance(one, Message) else Message(**one) for one in messages]
    context = {"include_memory": include_memory, "session_id": session}
    return {"messages": [{"role": one.role, "content": one.content} for one in said], "context": context}


def remembered(response: httpx2.Response, memory: RemoteMemory, was_new: bool | None) -> RemoteRemembered:
    return RemoteRemembered(memory, was_new, is_replayed(response))


def is_replayed(response: httpx2.Response) -> bool:
    return bool(response.headers.get("idempotency-replayed") == "true")


def _times(row: Row) -> dict[str, Any]:
    return {name: from_iso(row[name]) for name in _TIMES if row.get(name) is not None}


def _time(text: str | None) -> datetime | None:
    return None if text is None else from_iso(text)
