"""What an agent saw, stored verbatim: messages, tool outputs and documents."""

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from memorist.documents import Chunk, ExtractedText, chunk, extract_text
from memorist.errors import InvalidField, NotFound
from memorist.ids import new_id, parse_id
from memorist.ingestion.values import UTC_OFFSET, Document, DocumentPosition, output_key
from memorist.memories.fields import check_draft
from memorist.memories.hashes import content_hash, with_hashes
from memorist.memories.policy import Policy
from memorist.memories.service import Memories
from memorist.memories.values import QUOTES, Draft, Kind, Memory, Remembered, Retention, Trust
from memorist.platform import access, validation
from memorist.platform.paging import Cursors, Page, page_of
from memorist.platform.redaction import Counts, Redaction, counted
from memorist.platform.values import Owner, Principal
from memorist.ports import Reader, Store, Writer
from memorist.secrets import SecretFinding
from memorist.times import Clock, offset_minutes

_CURSORS: Cursors[DocumentPosition] = Cursors(
    "documents",
    lambda last: (last.id, last.owner.user or "", last.owner.agent or ""),
    lambda document_id, user, agent: DocumentPosition(
        validation.identifier("document_id", document_id), validation.owner(Owner(user or None, agent or None))
    ),
)
_TRUST_OF_ROLE = {"user": Trust.USER, "human": Trust.USER, "tool": Trust.TOOL, "function": Trust.TOOL}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. `name` is who speaks, where the role does not say it."""

    role: str
    content: str
    name: str | None = None
    event_time: datetime | None = None
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A stored tool output: its memory, the key of the whole payload, and what the memory shows of it."""

    memory: Memory
    key: str
    preview: str
    truncated: bool
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What an upload did: whether the document is new, and whether anything changed."""

    document: Document
    was_new: bool
    changed: bool


class Learner(Protocol):
    """Who looks for facts in what is said."""

    def promise(self, tx: Writer, principal: Principal, session: str, messages: Sequence[Memory]) -> None:
        """Promise to read messages, inside the transaction that stores them."""
        ...

    def begin(self, tenant: str) -> None:
        """Do what was promised, in the background."""
        ...


class Ingestion:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        memories: Memories,
        redaction: Redaction,
        *,
        preview: int,
        learner: Callable[[], Learner | None] = lambda: None,
    ) -> None:
        self._learner = learner
        self._redaction = redaction
        self._store = store
        self._clock = clock
        self._memories = memories
        self._preview = preview

    # Conversations

    def add_messages(
        self,
        principal: Principal,
        session: str,
        messages: Sequence[Message],
        *,
        extract: bool = True,
        idempotency_key: str | None = None,
    ) -> list[Remembered]:
        """Store messages of a session in their order, all or none. Facts are found in them in the background, unless
        `extract` is False.

        Raises InvalidField, Forbidden, IdempotencyMismatch, IdempotencyInFlight or StoreError.
        """
        validation.identifier("session", session)
        if not messages:
            raise InvalidField("At least one message is needed.", field="messages")
        drafts = [message_draft(index, session, message) for index, message in enumerate(messages)]
        learner = self._learner() if extract else None
        beside = None if extract else {"extract": extract}
        if learner is None:
            return self._memories.remember(principal, drafts, idempotency_key=idempotency_key, beside=beside)

        def promise(tx: Writer, results: Sequence[Remembered]) -> None:
            learner.promise(tx, principal, session, [one.memory for one in results if one.was_new])

        stored = self._memories.remember(principal, drafts, idempotency_key=idempotency_key, also=promise)
        learner.begin(principal.tenant)
        return stored

    def add_tool_output(
        self,
        principal: Principal,
        session: str,
        *,
        tool_call_id: str,
        tool_name: str,
        content: Any,
        event_time: datetime | None = None,
        idempotency_key: str | None = None,
        quotes: Sequence[str] | None = None,
    ) -> ToolOutput:
        """Store what a tool returned: whole, under its key, and for recall its beginning and its end.

        What is not a text is kept as JSON text, and of a text without a word the memory says so.
        An output that repeats memories names them in `quotes`: recall finds them and not the output, which is erased
        with any of them. Raises InvalidField, Forbidden, IdempotencyMismatch, IdempotencyInFlight, StoreError, or
        NotFound where what it quotes was erased meanwhile.
        """
        validation.identifier("session", session)
        content, inside = _as_text(content, self._redaction)
        content = validation.text("content", content, longest=validation.MAX_TOOL_OUTPUT, empty=True)
        validation.text("tool_call_id", tool_call_id, longest=validation.MAX_LINE, one_line=True)
        validation.text("tool_name", tool_name, longest=validation.MAX_IDENTIFIER, one_line=True)
        # Before anything is made of it: a preview may cut a secret in two, and a hash of it could be guessed.
        whole = self._redaction.found(content)
        content = validation.text("content", whole.text, longest=validation.MAX_TOOL_OUTPUT, empty=True)
        preview = preview_of(content, self._preview, key=_SOME_KEY) if content.strip() else _NO_WORD
        meta: dict[str, Any] = {"tool_name": tool_name, "tool_call_id": tool_call_id}
        meta |= {"size": len(content), "sha256": content_hash(content)}
        meta |= {} if quotes is None else {QUOTES: list(quotes)}
        draft = Draft(
            content=preview,
            kind=Kind.TOOL_OUTPUT,
            meta=meta,
            source_ref=tool_call_id,
            trust=Trust.TOOL,
            session=session,
            retention=Retention.POLICY,
            event_time=event_time,
        )

        def keep_whole(tx: Writer, results: Sequence[Remembered]) -> None:
            # They stay until this is written, so that an erasure of one of them finds the copy.
            if quotes and tx.memories.hold(quotes) != set(quotes):
                raise NotFound("A memory that this output repeats was erased meanwhile.")
            if preview != content:
                tx.tool_outputs.insert(results[0].memory.id, content)
            if rules := Counter(inside) + Counter(counted(whole.findings)):
                self._memories.rows.record_redaction(tx, principal, results[0].memory, rules)

        (stored,) = self._memories.remember(
            principal,
            [draft],
            idempotency_key=idempotency_key,
            also=keep_whole,
            finish=(lambda memory: memory) if preview == content else _naming_its_key,
        )
        is_cut = preview not in (content, _NO_WORD)
        return ToolOutput(stored.memory, output_key(stored.memory), stored.memory.content, is_cut, stored.replayed)

    def read_tool_output(self, principal: Principal, key: str) -> tuple[Memory, str]:
        """The memory of a tool output and its whole payload; the memory's id is as good as the key.

        Raises NotFound or InvalidId.
        """
        is_id = isinstance(key, str) and key.startswith("mem_")
        memory_id = parse_id("mem", key) if is_id else "mem_" + parse_id("tout", key).removeprefix("tout_")
        try:
            memory = self._memories.get(principal, memory_id)
        except NotFound:
            memory = None
        if memory is None or memory.kind is not Kind.TOOL_OUTPUT:
            raise NotFound(f"There is no tool output {key} that you may see.")
        whole = self._store.read(principal.tenant, lambda tx: tx.tool_outputs.get(memory_id))
        return memory, memory.content if whole is None else whole

    # Documents

    def add_document(
        self,
        principal: Principal,
        *,
        title: str,
        content: str | bytes,
        media_type: str = "text/plain",
        document_id: str | None = None,
        shared: bool | None = None,
    ) -> StoredDocument:
        """Store a document and its chunks, in place of the one with its id or, without an id, its title.

        With a service or admin key it is the tenant's, unless `shared` is False; a user's own, unless `shared` is true
        and the tenant's policy allows that. Raises InvalidField, Forbidden or StoreError.
        """
        validation.text("title", title, longest=validation.MAX_LINE, one_line=True)
        if document_id is not None:
            validation.identifier("document_id", document_id)
        validation.text("media_type", media_type, longest=validation.MAX_LINE, one_line=True)
        self._redaction.refuse("document_id", document_id)
        self._redaction.refuse("media_type", media_type)
        title = self._redaction.text(title)[: validation.MAX_LINE]
        if not isinstance(content, str | bytes):
            raise InvalidField.of("content", "must be a text, or the bytes of a file.")
        extracted, findings = self._redaction.extracted(extract_text(content, media_type))
        validation.text("content", extracted.text, longest=validation.MAX_DOCUMENT)
        policy = self._store.read(principal.tenant, lambda tx: tx.policies.get(), snapshot=False)
        rules = Policy() if policy is None else policy.policy
        owner = access.document_owner(principal, shared, users_share=rules.users_share_documents)
        chunks = chunk(extracted)
        stored, fresh = self._store.write(
            principal.tenant,
            partial(self._put_document, principal, owner, document_id, title, media_type, extracted, chunks, findings),
        )
        self._memories.index(principal.tenant, fresh)
        return stored

    def _put_document(
        self,
        principal: Principal,
        owner: Owner,
        document_id: str | None,
        title: str,
        media_type: str,
        extracted: ExtractedText,
        chunks: Sequence[Chunk],
        findings: Sequence[SecretFinding],
        tx: Writer,
    ) -> tuple[StoredDocument, list[Memory]]:
        before = _held_document(tx, owner, document_id, title)
        now = self._clock.now()
        document = Document(
            id=before.id if before else document_id or new_id("doc"),
            owner=owner,
            title=title,
            media_type=media_type,
            content=extracted.text,
            chunks=len(chunks),
            created_at=before.created_at if before else now,
            updated_at=now,
        )
        if before is not None:
            chunks_before = tx.documents.chunks_of(before)
            # Those that were archived, deleted or purged since are stored anew.
            is_whole = sum(map(before.holds, chunks_before)) == before.chunks
            if is_whole and replace(before, updated_at=now) == document:
                return StoredDocument(before, was_new=False, changed=False), []
            access.require_document_writable(principal, owner)
            self._memories.rows.retire(tx, principal, chunks_before, "replaced")
        tx.documents.put(document)
        drafts = [_chunk_draft(document, one) for one in chunks]
        prepared = [
            _with_findings(self._memories.prepare(principal, draft, allowed=owner), one, findings)
            for draft, one in zip(drafts, chunks, strict=True)
        ]
        self._memories.rows.insert_all(tx, principal, prepared)
        return StoredDocument(document, was_new=before is None, changed=True), prepared

    def get_document(self, principal: Principal, document_id: str) -> Document:
        """A document that the caller sees: its own first, then what is shared. Raises NotFound or InvalidField."""
        return self._store.read(principal.tenant, partial(_find_document, principal, document_id))

    def list_documents(self, principal: Principal, *, limit: int = 20, cursor: str | None = None) -> Page[Document]:
        """A page of the documents that the caller sees, in the order of their ids, without their texts.

        Raises InvalidField or InvalidCursor.
        """
        validation.page_limit(limit, largest=validation.MAX_DOCUMENT_PAGE)
        after = _CURSORS.decode(cursor)
        slices = access.visible_slices(principal)

        def work(tx: Reader) -> list[Document]:
            found = [document for part in slices for document in tx.documents.page(part, after, limit + 1, whole=False)]
            return sorted(found, key=_document_order)

        found = self._store.read(principal.tenant, work)
        return page_of(found, limit, lambda last: _CURSORS.encode(DocumentPosition(last.id, last.owner)))

    def forget_document(self, principal: Principal, document_id: str) -> Document:
        """Remove a document; its chunks are soft-deleted, as memories are. Raises NotFound or Forbidden."""

        def work(tx: Writer) -> Document:
            found = _find_document(principal, document_id, tx)
            access.require_document_writable(principal, found.owner)
            # Who replaces it meanwhile has other chunks, which would stay.
            tx.documents.hold(found.owner, document_id=found.id)
            document = tx.documents.get(found.owner, found.id)
            if document is None:  # Removed meanwhile; another of that id is not what was asked for.
                raise NotFound(f"There is no document {document_id[:60]} that you may see.")
            self._memories.rows.retire(tx, principal, tx.documents.chunks_of(document), "deleted")
            tx.documents.erase(document)
            return document

        return self._store.write(principal.tenant, work)


def _document_order(document: Document) -> tuple[str, str, str]:
    return document.id, document.owner.user or "", document.owner.agent or ""


def preview_of(content: str, longest: int, *, key: str | None = None) -> str:
    """The beginning and the end of a long text, with a line between that says what is missing, and where it is."""
    if len(content) <= longest:
        return content
    where = "" if key is None else f"; read_tool_output has all of it: tool_output_key {key}"
    tail = longest // 4
    head = longest - tail - len(_GAP.format(len(content), where))
    missing = len(content) - head - tail
    return content[:head] + _GAP.format(missing, where) + content[-tail:]


_GAP = "\n[… {} characters are left out{} …]\n"
_NO_WORD = "[The tool returned an empty text.]"
"""A memory says something; the output itself is kept as it was."""
_SOME_KEY = "tout_00000000000000000000000000"
"""Stands in a preview until the memory has its id."""


def _naming_its_key(memory: Memory) -> Memory:
    return with_hashes(replace(memory, content=memory.content.replace(_SOME_KEY, output_key(memory))))


def _as_text(content: Any, redaction: Redaction) -> tuple[Any, Counts]:
    """What a tool returned as text, and what was found in JSON that its text does not give away. Raises InvalidField
    for what is not JSON.
    """
    if content is None:
        return content, {}
    if isinstance(content, str):
        return _text_without_hidden(content, redaction)
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        plain, found = redaction.without_hidden(content)
        return (json.dumps(plain, ensure_ascii=False, allow_nan=False) if found else text), found
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField.of("content", "must be a text, or JSON without NaN, infinity or cycles.") from error


def _text_without_hidden(text: str, redaction: Redaction) -> tuple[str, Counts]:
    """A text that is JSON is written anew where a secret stands deep in it, and told with all that was found."""
    if not text.lstrip().startswith(("{", "[")):
        return text, {}
    try:
        if not redaction.without_hidden(json.loads(text))[1]:
            return text, {}
        # What the text gives away goes by itself, and leaves the rest of the text as it was.
        found = redaction.found(text)
        plain, hidden = redaction.without_hidden(json.loads(found.text))
        if not hidden:
            return text, {}
        written = json.dumps(plain, ensure_ascii=False, indent=2 if "\n" in text.strip() else None)
    except (ValueError, RecursionError):  # No JSON, or more than can be read: a text like others.
        return text, {}
    return written, dict(Counter(counted(found.findings)) + Counter(hidden))


def message_draft(index: int, session: str, message: Message) -> Draft:
    """The memory that a message becomes. Raises InvalidField, naming the message by its index."""
    try:
        role = validation.identifier("role", message.role)
        if message.name is not None:
            validation.text("name", message.name, longest=validation.MAX_IDENTIFIER, one_line=True)
        meta = validation.meta(message.meta) if message.meta else {}
        if meta.get("speaker") is not None:
            validation.text(
                "meta.speaker", meta["speaker"], longest=validation.MAX_IDENTIFIER, empty=True, one_line=True
            )
        draft = Draft(
            content=message.content,
            kind=Kind.CHAT_MESSAGE,
            meta=_message_meta(meta, role, message),
            trust=_TRUST_OF_ROLE.get(role, Trust.AGENT),
            session=session,
            retention=Retention.POLICY,
            event_time=message.event_time,
        )
        check_draft(draft)
    except InvalidField as error:
        raise InvalidField(
            f"messages.{index}: {error.message}", field=f"messages.{index}.{error.field or 'content'}"
        ) from error
    return draft


def _message_meta(meta: Mapping[str, Any], role: str, message: Message) -> dict[str, Any]:
    """What somebody keeps with a message, and what we do: under these names nothing else is kept."""
    minutes = offset_minutes(message.event_time) if isinstance(message.event_time, datetime) else 0
    ours = {"role": role, "speaker": message.name or meta.get("speaker"), UTC_OFFSET: minutes or None}
    kept = {name: value for name, value in ours.items() if value is not None}
    return {**{name: value for name, value in meta.items() if name not in ours}, **kept}


def _with_findings(memory: Memory, one: Chunk, findings: Sequence[SecretFinding]) -> Memory:
    """The chunk's memory, which also tells of the secrets that stood in its part of the document."""
    first, last = (bisect_left(findings, edge, key=lambda finding: finding.at) for edge in (one.start, one.end))
    inside = counted(findings[first:last])
    return replace(memory, redacted={**inside, **(memory.redacted or {})}) if inside else memory


def _chunk_draft(document: Document, one: Chunk) -> Draft:
    return Draft(
        content=one.text,
        kind=Kind.DOCUMENT_CHUNK,
        meta={
            "title": document.title,
            "heading_path": [document.title, *(part for part in one.heading_path if part != document.title)],
            "position": one.position,
            "start": one.start,
            "end": one.end,
        },
        source_ref=document.id,
        trust=Trust.DOCUMENT,
        retention=Retention.POLICY,
        owner=document.owner,
    )


def _held_document(tx: Writer, owner: Owner, document_id: str | None, title: str) -> Document | None:
    """The document that an upload replaces. Nobody else replaces it, or stores the first of its name, until this
    transaction ends: whose chunks nobody saw would stay beside the new ones.
    """
    if document_id is not None:
        tx.documents.hold(owner, document_id=document_id)
        return tx.documents.get(owner, document_id)
    tx.documents.hold(owner, title=title)
    while (found := tx.documents.find_titled(owner, title)) is not None:
        tx.documents.hold(owner, document_id=found.id)
        held = tx.documents.get(owner, found.id)
        if held is not None and held.title == title:  # Otherwise somebody who named its id was faster.
            return held
    return None


def _find_document(principal: Principal, document_id: str, tx: Reader) -> Document:
    validation.identifier("document_id", document_id)
    for part in access.visible_slices(principal):
        found = tx.documents.find(part, document_id)
        if found is not None:
            return found
    raise NotFound(f"There is no document {document_id[:60]} that you may see.")
