"""What an agent saw and said: messages, tool outputs, documents, tools and turns, and the stream of changes."""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from memorist.codec import to_record
from memorist.errors import InvalidField
from memorist.ids import parse_id
from memorist.ingestion.service import Message, StoredDocument, ToolOutput
from memorist.ingestion.values import Document, NotText, joined_text
from memorist.memories.values import Remembered
from memorist.platform import validation
from memorist.platform.feed import LONGEST_WAIT, QUIET, parse_position
from memorist.platform.feed import changes as follow_changes
from memorist.platform.paging import Page
from memorist.platform.values import Change
from memorist.times import SystemClock, from_iso, from_iso_with_offset, offset_minutes
from memorist.turns.values import LAST, STARTED, Turn, TurnEvent
from memorist.verbs.kinds import Acting, Call, Events, Stream, Verb, id_part, part, reading, told, told_as, without_none


def add_messages(
    session: str,
    messages: Iterable[Message | Mapping[str, Any]],
    *,
    extract: bool = True,
    idempotency_key: str | None = None,
) -> Verb[list[Remembered]]:
    """Store messages of a conversation in their order, all or none. Raises as `remember` does.

    A message is a `Message` (of `memorist.ingestion.service`), or a mapping with `role`, `content` and optionally
    `name`, `event_time` and `meta`. Facts are found in them in the background, unless `extract` is False.
    """
    said = _messages(messages)
    return Verb(
        lambda me: me.core.ingestion.add_messages(
            me.writing(), session, said, extract=extract, idempotency_key=idempotency_key
        ),
        lambda: Call(
            "POST",
            f"/v1/sessions/{part(validation.identifier('session', session))}/messages",
            told(list[Remembered]),
            body={"messages": [_record(message) for message in said], "extract": extract},
            writes=True,
            idempotency_key=idempotency_key,
        ),
    )


def _messages(given: Iterable[Message | Mapping[str, Any]]) -> list[Message]:
    """Messages as they are, and made of mappings. Raises InvalidField."""
    return [
        one if isinstance(one, Message) else _message(index, one)
        for index, one in enumerate(validation.each("messages", given))
    ]


def _message(index: int, given: Mapping[str, Any]) -> Message:
    known = {field.name for field in fields(Message)}
    if not isinstance(given, Mapping) or not {"role", "content"} <= given.keys() <= known:
        raise InvalidField(
            f"messages.{index} must have role and content, and beside them only name, event_time and meta.",
            field=f"messages.{index}",
        )
    moment = given.get("event_time")
    if isinstance(moment, str):
        try:
            moment = from_iso_with_offset(moment)
        except (ValueError, OverflowError) as error:
            raise InvalidField(
                f"messages.{index}: event_time must be a time.", field=f"messages.{index}.event_time"
            ) from error
    try:
        content = joined_text(given["content"])
    except NotText as error:
        raise InvalidField(f"messages.{index}: {error}.", field=f"messages.{index}.content") from error
    return Message(**{**given, "content": content, "event_time": moment})


def _record(message: Message) -> dict[str, Any]:
    """A message as the server takes it: its time with its offset, by which "yesterday" is understood."""
    record = without_none(**to_record(message))
    moment = message.event_time
    if isinstance(moment, datetime) and offset_minutes(moment):
        record["event_time"] = moment.isoformat()
    return record


def add_tool_output(
    session: str,
    *,
    tool_call_id: str,
    tool_name: str,
    content: Any,
    event_time: datetime | None = None,
    idempotency_key: str | None = None,
) -> Verb[ToolOutput]:
    """Store what a tool returned: whole under its key, and for recall a preview. What is no text is kept as JSON text.

    Raises as `remember` does.
    """
    given = {"tool_call_id": tool_call_id, "tool_name": tool_name, "content": content}
    return Verb(
        lambda me: me.core.ingestion.add_tool_output(
            me.writing(), session, **given, event_time=event_time, idempotency_key=idempotency_key
        ),
        lambda: Call(
            "POST",
            f"/v1/sessions/{part(validation.identifier('session', session))}/tool-outputs",
            told(ToolOutput),
            body=without_none(**given, event_time=to_record(event_time)),
            writes=True,
            idempotency_key=idempotency_key,
        ),
    )


def read_tool_output(key: str) -> Verb[str]:
    """The whole payload of a tool output. Raises NotFound or InvalidId."""

    def ask() -> Call[str]:
        parse_id("mem" if key.startswith("mem_") else "tout", key)
        body = {"tool_output_key": key}
        return Call("POST", "/v1/tools/read_tool_output", told_as("content", str), body=body, reads=True)

    return Verb(lambda me: me.core.ingestion.read_tool_output(me.principal, key)[1], ask)


# Documents


def add_document(
    title: str,
    content: str | bytes,
    *,
    media_type: str = "text/plain",
    document_id: str | None = None,
    shared: bool | None = None,
) -> Verb[StoredDocument]:
    """Store a document in chunks, in place of the one with its id or title. Raises InvalidField or Forbidden."""

    def ask() -> Call[StoredDocument]:
        body = without_none(title=title, media_type=media_type, document_id=document_id, shared=shared)
        if isinstance(content, bytes):
            body["content_base64"] = base64.b64encode(content).decode()
        else:
            body["content"] = content
        return Call("POST", "/v1/documents", told(StoredDocument), body=body)

    return Verb(
        lambda me: me.core.ingestion.add_document(
            me.writing(),
            title=title,
            content=content,
            media_type=media_type,
            document_id=document_id,
            shared=shared,
        ),
        ask,
    )


def get_document(document_id: str) -> Verb[Document]:
    """A document with its whole text. Raises NotFound."""
    return Verb(
        lambda me: me.core.ingestion.get_document(me.principal, document_id),
        lambda: reading(f"/v1/documents/{part(document_id)}", Document),
    )


def list_documents(*, limit: int = 20, cursor: str | None = None) -> Verb[Page[Document]]:
    """A page of documents by id, without their texts; pass `next_cursor` back to go on. Raises InvalidField."""
    return Verb(
        lambda me: me.core.ingestion.list_documents(me.principal, limit=limit, cursor=cursor),
        lambda: reading("/v1/documents", Page[Document], limit=limit, cursor=cursor),
    )


def forget_document(document_id: str) -> Verb[Document]:
    """Remove a document and soft-delete its chunks. Raises NotFound or Forbidden."""
    return Verb(
        lambda me: me.core.ingestion.forget_document(me.principal, document_id),
        lambda: Call("DELETE", f"/v1/documents/{part(document_id)}", told(Document)),
    )


# Tools


def tools(format: str = "openai") -> Verb[list[dict[str, Any]]]:
    """The agent's tools, as the API of a model (`openai`, `anthropic`) or an MCP client (`mcp`) takes them.

    Raises InvalidField.
    """
    answer = told_as("tools", list[dict[str, Any]])
    return Verb(
        lambda _: _toolbox().schemas(format),
        lambda: Call("GET", "/v1/tools", answer, {"format": format}, reads=True),
    )


def run_tool(name: str, arguments: Mapping[str, Any], *, idempotency_key: str | None = None) -> Verb[dict[str, Any]]:
    """Run one of the agent's tools with the arguments that a model gave.

    Raises NotFound, InvalidField or as the tool does.
    """

    validation.kind_of("arguments", arguments, Mapping, "an object")

    def run(me: Acting) -> dict[str, Any]:
        toolbox = _toolbox()
        principal = me.writing() if toolbox.get(name).writes else me.principal
        outcome = toolbox.run(me.core, principal, name, arguments, idempotency_key=idempotency_key)
        result: dict[str, Any] = outcome.result
        return result

    return Verb(
        run,
        lambda: Call(
            "POST",
            f"/v1/tools/{part(name)}",
            told(dict[str, Any]),
            body=dict(arguments),
            writes=True,
            idempotency_key=idempotency_key,
        ),
    )


def _toolbox() -> Any:
    # A client only names the tools, and does not pay for what describes them.
    from memorist import tools

    return tools


# Turns


def turn(
    messages: Sequence[Message | Mapping[str, Any]],
    *,
    include_memory: bool = True,
    session: str | None = None,
) -> Stream[TurnEvent]:
    """Ask the language model, with what is remembered, and learn from the exchange: its events as they come.

    `messages` is the conversation so far and ends with the user's. An iterator that is dropped ends the turn soon; a
    connection that breaks does not, and the turn is taken once. Raises LlmNotConfigured, BudgetSpent, InvalidField or
    Forbidden.
    """
    said = _messages(messages)

    def take(me: Acting) -> Any:
        principal = me.writing()
        started = me.core.turns.start(principal, said, include_memory=include_memory, session=session)
        return me.core.turns.follow(principal, started.id)

    def ask() -> Events[TurnEvent]:
        if session:
            validation.identifier("session", session)
        body = {
            "messages": [{"role": one.role, "content": one.content} for one in said],
            "context": {"include_memory": include_memory, "session_id": session},
            "stream": True,
        }
        return Events("/v1/turns", _turn_event, ends=LAST, body=body, begins=STARTED)

    return Stream(take, ask)


def turn_events(turn_id: str, *, after: int = 0) -> Stream[TurnEvent]:
    """The events of a turn after one of them, until it is over. Raises Forbidden, NotFound, InvalidId or
    InvalidField.
    """

    def ask() -> Events[TurnEvent]:
        path = f"/v1/turns/{id_part('turn', turn_id)}/events"
        last = validation.event_number(after)
        return Events(path, _turn_event, after=str(last) if last else None, ends=LAST)

    return Stream(lambda me: me.core.turns.follow(me.principal, turn_id, after), ask)


def _turn_event(event: Any) -> TurnEvent:
    # The stream tells no times: it is told as it happens.
    return TurnEvent(int(event.id), event.event, json.loads(event.data), SystemClock().now())


def get_turn(turn_id: str) -> Verb[Turn]:
    """A turn: how it stands, and what came of it. Raises Forbidden, NotFound or InvalidId."""
    return Verb(
        lambda me: me.core.turns.get(me.principal, turn_id),
        lambda: reading(f"/v1/turns/{id_part('turn', turn_id)}", Turn),
    )


def turns(*, limit: int = 20, cursor: str | None = None) -> Verb[Page[Turn]]:
    """A page of turns, newest first. Raises Forbidden, InvalidField or InvalidCursor."""
    return Verb(
        lambda me: me.core.turns.list(me.principal, limit=limit, cursor=cursor),
        lambda: reading("/v1/turns", Page[Turn], limit=limit, cursor=cursor),
    )


# Changes


def changes(*, after: str | None = None, wait: float | None = None) -> Stream[Change]:
    """Changes of memories that the caller sees, as they happen, whichever process makes them.

    Begins after a position (`"0-0"`: from the first change on) or, without one, with the first `next`. Ends when none
    came for `wait` seconds (0: with what is there now); without `wait`, never. Over a connection, a change whose action
    is `resync` says that some may have been missed. Raises InvalidCursor, or Unauthenticated once the API key is
    revoked.
    """

    def ask() -> Events[Change]:
        path = "/v1/events/stream"
        if after is not None:
            parse_position(after)
        if wait is None:
            return Events(path, _change, after=after)
        seconds = max(0.0, min(wait, LONGEST_WAIT))
        return Events(path, _change, after=after, wait=seconds, ends={QUIET})

    return Stream(lambda me: follow_changes(me.core.feed, me.who, after, wait=wait), ask)


def _change(event: Any) -> Change | None:
    if event.event == "resync":
        return Change(event.id, "resync", "", SystemClock().now())
    if event.event != "resource_change":
        return None
    row = json.loads(event.data)
    return Change(event.id, row["action"], parse_id("mem", row["id"]), from_iso(row["at"]))
