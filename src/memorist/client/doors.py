"""Which API of the server stores a memory: each takes some fields, in its own words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import httpx2

from memorist.client import decoding
from memorist.client.exchange import Call
from memorist.client.values import RemoteMemory, RemoteRemembered
from memorist.errors import InvalidField
from memorist.ids import parse_id
from memorist.memories.values import Kind, Retention, Trust
from memorist.platform.values import Owner


@dataclass(frozen=True, slots=True)
class _Door:
    """An API that stores a memory: what it takes, in its own words, and of which categories."""

    path: str
    words: Mapping[str, str]
    needs: frozenset[str] = frozenset()
    categories: frozenset[str] | None = None

    def takes(self, given: Mapping[str, Any]) -> bool:
        is_known = self.categories is None or given.get("category") in self.categories
        return is_known and self.needs <= given.keys() <= self.words.keys()


_COMPANION = frozenset({"goal", "insight", "preference", "history"})
_CHUNKS = frozenset({"decision", "fact", "solution", "pattern", "preference", "summary"})
_DOORS = (
    _Door("/v1/tools/remember_fact", {"content": "content"}),
    _Door(
        "/v1/memories",
        {
            "content": "body",
            "category": "type",
            "name": "name",
            "description": "description",
            "importance": "importance",
        },
        needs=frozenset({"name", "category"}),
    ),
    _Door(
        "/v1/memory",
        {"content": "text", "category": "category", "confidence": "confidence"},
        categories=_COMPANION,
    ),
    _Door(
        "/api/memory/store",
        {
            "content": "content",
            "category": "chunkType",
            "session": "sessionId",
            "project": "projectPath",
            "excerpt": "sourceExcerpt",
            "relevance": "relevanceScore",
        },
        categories=_CHUNKS,
    ),
    _Door(
        "/memory/add",
        {"content": "content", "meta": "metadata", "ttl": "ttl_minutes", "retention": "retention"},
        needs=frozenset({"retention"}),
    ),
)


def remember(
    content: str,
    *,
    kind: Kind = Kind.FACT,
    category: str | None = None,
    name: str | None = None,
    description: str | None = None,
    excerpt: str | None = None,
    importance: int = 0,
    confidence: float | None = None,
    relevance: float | None = None,
    meta: Mapping[str, Any] | None = None,
    source_ref: str | None = None,
    trust: Trust = Trust.USER,
    project: str | None = None,
    session: str | None = None,
    event_time: datetime | None = None,
    owner: Owner | None = None,
    retention: Retention = Retention.KEEP,
    ttl: timedelta | None = None,
    idempotency_key: str | None = None,
) -> Call[RemoteRemembered]:
    """Store one memory durably, through the API of the server that takes the fields that are given.

    A text alone is a fact, as with `remember_fact`; with a `name` it is a profile's; with a category it is that of a
    companion or of a coding assistant; with `retention=policy` it ages, and may have a `ttl` and a `meta`.
    Raises InvalidField where no API takes these fields together, or as the library's does.
    """
    given: dict[str, Any] = {
        field: value
        for field, value, default in (
            ("kind", kind, Kind.FACT),
            ("category", category, None),
            ("name", name, None),
            ("description", description, None),
            ("excerpt", excerpt, None),
            ("importance", importance, 0),
            ("confidence", confidence, None),
            ("relevance", relevance, None),
            ("meta", meta, None),
            ("source_ref", source_ref, None),
            ("trust", trust, Trust.USER),
            ("project", project, None),
            ("session", session, None),
            ("event_time", event_time, None),
            ("owner", owner, None),
            ("retention", retention, Retention.KEEP),
            ("ttl", ttl, None),
        )
        if value != default
    }
    given["content"] = content
    door = next((one for one in _DOORS if one.takes(given)), None)
    if door is None:
        raise InvalidField(
            f"No API of the server takes these together: {', '.join(sorted(given))}. "
            "The reference of the client lists what each takes.",
        )
    if ttl is not None:
        given["ttl"] = ttl / timedelta(minutes=1)
    body = {word: given[field] for field, word in door.words.items() if field in given and field != "retention"}
    decode = _DECODERS[door.path](content)
    return Call("POST", door.path, decode, body=body, writes=True, idempotency_key=idempotency_key)


def from_tool(content: str) -> Callable[[httpx2.Response], RemoteRemembered]:
    """What the tool stored: it answers with an id alone."""

    def decode(response: httpx2.Response) -> RemoteRemembered:
        answer = response.json()
        memory = RemoteMemory(parse_id("mem", answer["id"]), content, kind=Kind.FACT)
        return decoding.remembered(response, memory, answer["was_new"])

    return decode


def _from_profile(response: httpx2.Response) -> RemoteRemembered:
    return decoding.remembered(response, decoding.versioned_memory(response), True)


def _from_companion(response: httpx2.Response) -> RemoteRemembered:
    return decoding.remembered(response, decoding.companion_memory(response.json()), None)


def _from_chunks(response: httpx2.Response) -> RemoteRemembered:
    return decoding.remembered(response, decoding.chunk_memory(response.json()["data"]), None)


def _from_lifecycle(response: httpx2.Response) -> RemoteRemembered:
    row = response.json()
    return decoding.remembered(response, decoding.lifecycle_memory(row), row["was_new"])


_DECODERS: dict[str, Callable[[str], Callable[[httpx2.Response], RemoteRemembered]]] = {
    "/v1/tools/remember_fact": from_tool,
    "/v1/memories": lambda _: _from_profile,
    "/v1/memory": lambda _: _from_companion,
    "/api/memory/store": lambda _: _from_chunks,
    "/memory/add": lambda _: _from_lifecycle,
}
