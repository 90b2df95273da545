"""Every call of the server, described once: where it goes, what is sent and how the answer is read.

The clients take their methods from here, and `remember` from `doors`; names and arguments are the library's.
"""

import base64
from builtins import list as List
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx2

from memorist.client import decoding
from memorist.client.doors import from_tool
from memorist.client.exchange import Call
from memorist.client.values import (
    RemoteDocument,
    RemoteDocumentPage,
    RemoteDoubt,
    RemoteDoubtPage,
    RemoteExtracted,
    RemoteFactVersion,
    RemoteMemory,
    RemotePage,
    RemoteRecalled,
    RemoteRemembered,
    RemoteStoredDocument,
    RemoteToolOutput,
    RemoteTurn,
    RemoteTurnPage,
)
from memorist.context.section import Section
from memorist.erasure.ledger import receipt_from_record
from memorist.erasure.values import Receipt
from memorist.errors import InvalidField
from memorist.facts.service import FactScope
from memorist.facts.values import DoubtStatus
from memorist.ingestion.service import Message
from memorist.memories.values import Kind, Order, Status
from memorist.platform.values import Event
from memorist.recall.values import Scope
from memorist.times import to_iso

# Memories


def get(memory_id: str) -> Call[RemoteMemory]:
    """One memory in full, by its id in any form; the read is counted. Raises NotFound or InvalidId."""
    return Call("GET", f"/v1/memories/{_part(memory_id)}", decoding.versioned_memory, reads=True)


def list(
    *,
    agent: str | None = None,
    named: bool = False,
    kind: Kind | None = None,
    category: str | None = None,
    project: str | None = None,
    session: str | None = None,
    status: Status = Status.ACTIVE,
    order: Order = Order.NEWEST,
    limit: int = 20,
    cursor: str | None = None,
) -> Call[RemotePage]:
    """A page of memories, newest first; pass `next_cursor` back to go on. Raises InvalidField or InvalidCursor."""
    query: dict[str, Any] = {
        "agent": agent,
        "named": named,
        "kind": kind,
        "category": category,
        "project": project,
        "session": session,
        "status": status,
        "order": order,
        "limit": limit,
        "cursor": cursor,
    }
    return Call("GET", "/v1/records", _page, query, reads=True)


def _page(response: httpx2.Response) -> RemotePage:
    answer = response.json()
    return RemotePage(tuple(decoding.record(row) for row in answer["data"]), answer["next_cursor"])


_EDITED = {"content": "body", "category": "type"}


def edit(
    memory_id: str,
    changes: Mapping[str, Any],
    *,
    expected_version: str | None = None,
    idempotency_key: str | None = None,
) -> Call[RemoteMemory]:
    """Change fields of a memory. With `expected_version=memory.version`, only if nobody else did meanwhile.

    Raises NotFound, Forbidden, InvalidField, StaleVersion, NameTaken or DuplicateContent.
    """
    return Call(
        "PATCH",
        f"/v1/memories/{_part(memory_id)}",
        decoding.versioned_memory,
        body={_EDITED.get(field, field): value for field, value in changes.items()},
        headers=_if_match(expected_version),
        writes=True,
        idempotency_key=idempotency_key,
    )


def forget(memory_id: str, *, expected_version: str | None = None, idempotency_key: str | None = None) -> Call[None]:
    """Soft-delete a memory: gone from every list at once. Raises NotFound, Forbidden or StaleVersion."""
    return Call(
        "DELETE",
        f"/v1/memories/{_part(memory_id)}",
        _nothing,
        headers=_if_match(expected_version),
        writes=True,
        idempotency_key=idempotency_key,
    )


def archive(memory_id: str) -> Call[RemoteMemory]:
    """Take a memory out of recall and lists; it stays readable by its id.

    Raises NotFound, Forbidden or IllegalTransition.
    """
    return Call("POST", f"/memory/{_part(memory_id)}/archive", _lifecycle_row)


def restore(memory_id: str) -> Call[RemoteMemory]:
    """Bring back a memory that is archived, or deleted and still recoverable.

    Raises NotFound, Forbidden, IllegalTransition, NameTaken or DuplicateContent.
    """
    return Call("POST", f"/memory/{_part(memory_id)}/restore", _lifecycle_row)


def _lifecycle_row(response: httpx2.Response) -> RemoteMemory:
    return decoding.lifecycle_memory(response.json())


def events(memory_id: str) -> Call[Sequence[Event]]:
    """What happened to a memory, oldest first. Raises NotFound or InvalidId."""

    def decode(response: httpx2.Response) -> Sequence[Event]:
        return [decoding.event(memory_id, row) for row in response.json()["events"]]

    return Call("GET", f"/memory/{_part(memory_id)}/events", decode, reads=True)


def section(agent: str | None = None) -> Call[Section]:
    """The memory section for a system prompt: the named memories of a profile, fenced."""

    def decode(response: httpx2.Response) -> Section:
        answer = response.json()
        return Section(answer["section"], answer["count"])

    return Call("GET", "/v1/memories/section", decode, {"profile_id": agent}, reads=True)


# The agent's tools


def tools(format: str = "openai") -> Call[List[dict[str, Any]]]:
    """The agent's tools, as the API of a model (`openai`, `anthropic`) or an MCP client (`mcp`) takes them.

    Raises InvalidField.
    """
    return Call("GET", "/v1/tools", lambda response: response.json()["tools"], {"format": format}, reads=True)


def run_tool(name: str, arguments: Mapping[str, Any], *, idempotency_key: str | None = None) -> Call[dict[str, Any]]:
    """Run one of the agent's tools with the arguments that a model gave.

    Raises NotFound, InvalidField or as the tool does.
    """
    return Call(
        "POST",
        f"/v1/tools/{_part(name)}",
        lambda response: response.json(),
        body=dict(arguments),
        writes=True,
        idempotency_key=idempotency_key,
    )


def recall(
    query: str,
    *,
    top_k: int = 5,
    source_kinds: Sequence[Kind] | None = None,
    scope: Scope = Scope.ANY,
    enable_rerank: bool = True,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    after: datetime | None = None,
    before: datetime | None = None,
    category: str | None = None,
    project: str | None = None,
    budget_tokens: int | None = None,
    min_score: float | None = None,
    explain: bool = False,
    why_not: str | None = None,
) -> Call[RemoteRecalled]:
    """The memories that answer a question, best first. Raises InvalidField, NotFound (of `why_not`) or StoreError.

    `as_of` and `known_at` bring back what was true, or known, at a moment; `after` and `before` bound when it was
    said; `budget_tokens` fills a budget instead of counting to `top_k`; `min_score` is where relevance ends.
    """
    moments = {"as_of": as_of, "known_at": known_at, "after": after, "before": before}
    arguments = {
        "query": query,
        "top_k": top_k,
        "source_kinds": None if source_kinds is None else [*source_kinds],
        "scope": scope,
        "enable_rerank": enable_rerank,
        "category": category,
        "project": project,
        "budget_tokens": budget_tokens,
        "min_score": min_score,
        "explain": explain,
        "why_not": why_not,
        **{name: None if moment is None else to_iso(moment) for name, moment in moments.items()},
    }
    body = {name: value for name, value in arguments.items() if value is not None}
    return Call("POST", "/v1/tools/recall", decoding.recalled, body=body, reads=True)


def remember_fact(
    content: str, scope: FactScope = FactScope.USER, *, idempotency_key: str | None = None
) -> Call[RemoteRemembered]:
    """Store a fact about the user, or of the agent, and retire what it contradicts; the same one is stored once.

    Raises as `remember` does.
    """
    body = {"content": content, "scope": scope}
    path = "/v1/tools/remember_fact"
    return Call("POST", path, from_tool(content), body=body, writes=True, idempotency_key=idempotency_key)


def read_tool_output(key: str) -> Call[str]:
    """The whole payload of a tool output. Raises NotFound or InvalidId."""

    def decode(response: httpx2.Response) -> str:
        return str(response.json()["content"])

    return Call("POST", "/v1/tools/read_tool_output", decode, body={"tool_output_key": key}, reads=True)


# What an agent saw


def add_messages(
    session: str, messages: Iterable[Message], *, idempotency_key: str | None = None
) -> Call[List[RemoteRemembered]]:
    """Store messages of a conversation in their order, all or none. Raises as `remember` does."""
    said = [*messages]

    def decode(response: httpx2.Response) -> List[RemoteRemembered]:
        found = zip(said, response.json()["ids"], strict=True)
        return [
            decoding.remembered(
                response, RemoteMemory(one, message.content, session=session, kind=Kind.CHAT_MESSAGE), True
            )
            for message, one in found
        ]

    return Call(
        "POST",
        f"/v1/sessions/{_part(session)}/messages",
        decode,
        body={"messages": [_message(message) for message in said]},
        writes=True,
        idempotency_key=idempotency_key,
    )


def _message(message: Message) -> dict[str, Any]:
    fields = {
        "role": message.role,
        "content": message.content,
        "name": message.name,
        "event_time": None if message.event_time is None else to_iso(message.event_time),
        "meta": None if message.meta is None else dict(message.meta),
    }
    return {name: value for name, value in fields.items() if value is not None}


def add_tool_output(
    session: str,
    *,
    tool_call_id: str,
    tool_name: str,
    content: str,
    event_time: datetime | None = None,
    idempotency_key: str | None = None,
) -> Call[RemoteToolOutput]:
    """Store what a tool returned: whole under its key, and for recall a preview. Raises as `remember` does."""
    body = {"tool_call_id": tool_call_id, "tool_name": tool_name, "content": content}
    if event_time is not None:
        body["event_time"] = to_iso(event_time)

    def decode(response: httpx2.Response) -> RemoteToolOutput:
        answer = response.json()
        preview = answer["preview"]
        memory = RemoteMemory(answer["id"], preview, session=session, kind=Kind.TOOL_OUTPUT, source_ref=tool_call_id)
        replayed = decoding.is_replayed(response)
        return RemoteToolOutput(memory, answer["tool_output_key"], preview, answer["truncated"], replayed)

    path = f"/v1/sessions/{_part(session)}/tool-outputs"
    return Call("POST", path, decode, body=body, writes=True, idempotency_key=idempotency_key)


def add_document(
    title: str,
    content: str | bytes,
    *,
    media_type: str = "text/plain",
    document_id: str | None = None,
    shared: bool | None = None,
) -> Call[RemoteStoredDocument]:
    """Store a document in chunks, in place of the one with its id or title. Raises InvalidField or Forbidden."""
    body: dict[str, Any] = {"title": title, "media_type": media_type}
    if isinstance(content, str):
        body["content"] = content
    else:
        body["content_base64"] = base64.b64encode(content).decode()
    body |= {} if document_id is None else {"document_id": document_id}
    body |= {} if shared is None else {"shared": shared}

    def decode(response: httpx2.Response) -> RemoteStoredDocument:
        answer = response.json()
        return RemoteStoredDocument(decoding.document(answer), answer["was_new"], answer["changed"])

    return Call("POST", "/v1/documents", decode, body=body)


def get_document(document_id: str) -> Call[RemoteDocument]:
    """A document with its whole text. Raises NotFound."""
    return Call("GET", f"/v1/documents/{_part(document_id)}", _document, reads=True)


def _document(response: httpx2.Response) -> RemoteDocument:
    return decoding.document(response.json())


def list_documents(*, limit: int = 20, cursor: str | None = None) -> Call[RemoteDocumentPage]:
    """A page of documents by id, without their texts; pass `next_cursor` back to go on. Raises InvalidField."""

    def decode(response: httpx2.Response) -> RemoteDocumentPage:
        answer = response.json()
        return RemoteDocumentPage(tuple(map(decoding.document, answer["data"])), answer["next_cursor"])

    return Call("GET", "/v1/documents", decode, {"limit": limit, "cursor": cursor}, reads=True)


def forget_document(document_id: str) -> Call[None]:
    """Remove a document and soft-delete its chunks. Raises NotFound or Forbidden."""
    return Call("DELETE", f"/v1/documents/{_part(document_id)}", _nothing)


def extract(transcript: str, *, session: str | None = None, project: str | None = None) -> Call[RemoteExtracted]:
    """Store a transcript and what is worth remembering of it; what is stored already is not stored again.

    Where the language model does not answer, what it would have found comes later. Raises as `remember` does.
    """
    given = {"transcript": transcript, "sessionId": session, "projectPath": project}

    def decode(response: httpx2.Response) -> RemoteExtracted:
        answer = response.json()
        return RemoteExtracted(tuple(map(decoding.chunk_memory, answer["data"])), answer["waiting"])

    body = {name: value for name, value in given.items() if value is not None}
    return Call("POST", "/api/memory/extract", decode, body=body)


# Turns


def get_turn(turn_id: str) -> Call[RemoteTurn]:
    """A turn: how it stands, and what came of it. Raises NotFound or InvalidId."""
    return Call("GET", f"/v1/turns/{_part(turn_id)}", lambda response: decoding.turn(response.json()), reads=True)


def turns(*, limit: int = 20, cursor: str | None = None) -> Call[RemoteTurnPage]:
    """A page of turns, newest first. Raises InvalidField or InvalidCursor."""

    def decode(response: httpx2.Response) -> RemoteTurnPage:
        answer = response.json()
        return RemoteTurnPage(tuple(map(decoding.turn, answer["data"])), answer["next_cursor"])

    return Call("GET", "/v1/turns", decode, {"limit": limit, "cursor": cursor}, reads=True)


# Facts


def history(memory_id: str) -> Call[Sequence[RemoteFactVersion]]:
    """The facts that replaced each other, oldest first, of which this is one. Raises NotFound or InvalidId."""

    def decode(response: httpx2.Response) -> Sequence[RemoteFactVersion]:
        return [decoding.fact_version(row) for row in response.json()["data"]]

    return Call("GET", f"/v1/facts/{_part(memory_id)}/history", decode, reads=True)


def restore_fact(memory_id: str) -> Call[RemoteMemory]:
    """Make a retired fact active again, beside what took its place. Raises NotFound, Forbidden or Conflict."""
    path = f"/v1/facts/{_part(memory_id)}/restore"
    return Call("POST", path, lambda response: decoding.fact_memory(response.json()))


def in_doubt(
    *, status: DoubtStatus = DoubtStatus.OPEN, limit: int = 20, cursor: str | None = None
) -> Call[RemoteDoubtPage]:
    """A page of pairs of facts that may contradict each other, or say the same. Raises as `list` does."""

    def decode(response: httpx2.Response) -> RemoteDoubtPage:
        answer = response.json()
        return RemoteDoubtPage(tuple(map(decoding.doubt, answer["data"])), answer["next_cursor"])

    query = {"status": status, "limit": limit, "cursor": cursor}
    return Call("GET", "/v1/facts/in-doubt", decode, query, reads=True)


def confirm_doubt(doubt_id: str) -> Call[RemoteDoubt]:
    """Decide that the newer fact holds: the older one is retired. Raises NotFound, Forbidden or Conflict."""
    return Call("POST", f"/v1/facts/in-doubt/{_part(doubt_id)}/confirm", _doubt)


def refute_doubt(doubt_id: str) -> Call[RemoteDoubt]:
    """Decide that the older fact holds: the newer one is retired. Raises NotFound, Forbidden or Conflict."""
    return Call("POST", f"/v1/facts/in-doubt/{_part(doubt_id)}/refute", _doubt)


def dismiss_doubt(doubt_id: str) -> Call[RemoteDoubt]:
    """Decide that both facts hold. Raises NotFound, Forbidden or Conflict."""
    return Call("POST", f"/v1/facts/in-doubt/{_part(doubt_id)}/dismiss", _doubt)


def _doubt(response: httpx2.Response) -> RemoteDoubt:
    return decoding.doubt(response.json())


# Erasure


def purge(user: str | None = None, *, keys: bool = False) -> Call[Receipt]:
    """Erase everything of one's own, with every agent, or for an admin of any user; `keys`: API keys too.

    The server keeps one's own keys, and ends those of a user that an admin names: `keys` must say so. Raises Forbidden
    or InvalidField, and StoreError where it is to be finished later.
    """
    if (user is None) == keys:
        raise InvalidField.of("keys", "is to be True with a user, and False without one.")
    return Call("DELETE", "/memory/user/purge" if user is None else f"/v1/admin/users/{_part(user)}", _receipt)


def delete_tenant(*, at_once: bool = False) -> Call[Receipt]:
    """Erase the whole tenant in 30 days, or at once, for an admin. Its keys end now. Raises Forbidden."""
    return Call("DELETE", "/v1/admin/tenant", _receipt, {"at_once": at_once})


def receipt(receipt_id: str) -> Call[Receipt]:
    """The receipt of an erasure of one's own, or for an admin of any. Raises NotFound or InvalidId."""
    return Call("GET", f"/v1/receipts/{_part(receipt_id)}", _receipt, reads=True)


def receipts(*, limit: int = 100) -> Call[Sequence[Receipt]]:
    """The newest receipts of one's own, or for an admin of the tenant. Raises InvalidField."""

    def decode(response: httpx2.Response) -> Sequence[Receipt]:
        return [receipt_from_record(row) for row in response.json()["data"]]

    return Call("GET", "/v1/receipts", decode, {"limit": limit}, reads=True)


def _receipt(response: httpx2.Response) -> Receipt:
    return receipt_from_record(response.json())


def _nothing(_: httpx2.Response) -> None:
    return None


def _if_match(version: str | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}


def _part(text: str) -> str:
    """A part of a path. Names are their owner's words, and may hold what a path uses itself."""
    return quote(text, safe="")
