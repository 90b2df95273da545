"""The Python library: `Memorist.open(...)`, then a handle for each user.

with Memorist.open("./memories") as m:
    me = m.user("ada", agent="coder")
    me.remember("Deploys happen on Fridays only.", category="project")
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from memorist import tools
from memorist.bootstrap import open_core
from memorist.context.section import Section
from memorist.core import Core
from memorist.erasure.values import Receipt, Verification
from memorist.facts.service import FactScope
from memorist.facts.values import DoubtPage, DoubtStatus, FactVersion, InDoubt
from memorist.ingestion.service import Message, StoredDocument, ToolOutput
from memorist.ingestion.values import Document, DocumentPage
from memorist.learning.service import ExtractedMemories
from memorist.memories.policies import PolicyChange
from memorist.memories.policy import PolicyRevision
from memorist.memories.sweeper import Sweep
from memorist.memories.values import Draft, Kind, Memory, Order, Page, Remembered, Retention, Status, Trust
from memorist.platform import access, validation
from memorist.platform.feed import changes as follow_changes
from memorist.platform.values import Change, Event, Job, JobPage, JobStatus, Owner, Principal, Role
from memorist.recall.values import Question, Recalled, Scope
from memorist.settings import Settings, load_settings
from memorist.transfer.service import ImportReport
from memorist.turns.values import Turn, TurnEvent, TurnPage

P = ParamSpec("P")
T = TypeVar("T")

_LINES_AT_ONCE = 100
_DATABASE_ENDINGS = (".db", ".sqlite", ".sqlite3", ":memory:")


class Memorist:
    """An open store of memories. Safe to share between threads; close it, or use it in a `with`."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @classmethod
    def open(cls, url_or_path: str | Path | None = None) -> Self:
        """Open a folder, an SQLite file or a `postgresql://` URL; without one, what the settings name.

        Missing folders and files are made, and the database is brought up to this release.
        Raises InvalidSetting or StoreError.
        """
        return cls(open_core(_settings_for(url_or_path)))

    def user(
        self, user: str, *, agent: str | None = None, session: str | None = None, tenant: str = "local"
    ) -> "Handle":
        """A handle that acts as one user, optionally as one of the user's agents and in one session.

        Raises InvalidField.
        """
        return self._handle(Principal(tenant, Role.USER, user, agent, session))

    def admin(self, *, user: str | None = None, tenant: str = "local") -> "Handle":
        """A handle that administers a tenant: it sees every user's memories and writes those that all share."""
        return self._handle(Principal(tenant, Role.ADMIN, user))

    def _handle(self, principal: Principal) -> "Handle":
        for field in ("user", "agent", "session"):
            if getattr(principal, field) is not None:
                validation.identifier(field, getattr(principal, field))
        validation.tenant_name(principal.tenant)
        return Handle(self._core, lambda: principal)

    def with_key(self, api_key: str) -> "Handle":
        """A handle that acts as the holder of an API key, for as long as the key is valid. Raises Unauthenticated."""
        handle = Handle(self._core, lambda: self._core.identity.authenticate(api_key))
        handle.principal  # noqa: B018 - a key that is not valid is refused here, not at the first use
        return handle

    def close(self) -> None:
        """Write what is pending and let go of the database."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Handle:
    """What one principal can do. Every call goes through the same policy layer as the server's."""

    def __init__(self, core: Core, who: Callable[[], Principal]) -> None:
        self._core = core
        self._who = who
        self._tenant_exists = False

    @property
    def principal(self) -> Principal:
        """Whom this handle acts as. Raises Unauthenticated once its API key is revoked."""
        return self._who()

    def _writing(self) -> Principal:
        """The principal, whose tenant is made before its first write. Reading makes nothing."""
        principal = self.principal
        if not self._tenant_exists:
            self._core.identity.create_tenant(principal.tenant)
            self._tenant_exists = True
        return principal

    def remember(
        self,
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
    ) -> Remembered:
        """Store one memory durably. `was_new` is False where this owner already has that fact in that category.

        Raises InvalidField, Forbidden, NameTaken, IdempotencyMismatch, IdempotencyInFlight or StoreError.
        """
        draft = Draft(
            content, kind, category, name, description, excerpt, importance, confidence, relevance, meta,
            source_ref, trust, project, session, retention, event_time, owner, ttl,
        )  # fmt: skip
        return self.remember_all([draft], idempotency_key=idempotency_key)[0]

    def remember_all(self, drafts: Iterable[Draft], *, idempotency_key: str | None = None) -> list[Remembered]:
        """Store all drafts in one transaction, or none."""
        return self._core.memories.remember(self._writing(), list(drafts), idempotency_key=idempotency_key)

    def recall(
        self,
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
    ) -> Recalled:
        """The memories that answer a question, best first. Raises InvalidField, NotFound (of `why_not`) or StoreError.

        `as_of` and `known_at` bring back what was true, or known, at a moment; `after` and `before` bound when it was
        said; `budget_tokens` fills a budget instead of counting to `top_k`; `min_score` is where relevance ends.
        """
        question = Question(
            query, top_k, source_kinds, scope, enable_rerank, as_of, known_at, after, before, category, project,
            budget_tokens, min_score, explain, why_not,
        )  # fmt: skip
        return self._core.recall.recall(self.principal, question)

    def remember_fact(
        self, content: str, scope: FactScope = FactScope.USER, *, idempotency_key: str | None = None
    ) -> Remembered:
        """Store a fact about the user, or of the agent, and retire what it contradicts; the same one is stored once.

        Raises as `remember` does.
        """
        return self._core.facts.remember(self._writing(), content, scope, idempotency_key=idempotency_key)

    def extract(self, transcript: str, *, session: str | None = None, project: str | None = None) -> ExtractedMemories:
        """Store a transcript and what is worth remembering of it; what is stored already is not stored again.

        Where the language model does not answer, what it would have found comes later (`jobs`). Raises as `remember`
        does.
        """
        return self._core.extraction.read_transcript(self._writing(), transcript, session=session, project=project)

    def history(self, memory_id: str) -> Sequence[FactVersion]:
        """The facts that replaced each other, oldest first, of which this is one. Raises NotFound or InvalidId."""
        return self._core.facts.history(self.principal, memory_id)

    def restore_fact(self, memory_id: str) -> Memory:
        """Make a retired fact active again, beside what took its place. Raises NotFound, Forbidden or Conflict."""
        return self._core.facts.restore(self.principal, memory_id)

    def in_doubt(
        self, *, status: DoubtStatus = DoubtStatus.OPEN, limit: int = 20, cursor: str | None = None
    ) -> DoubtPage:
        """A page of pairs of facts that may contradict each other, or say the same. Raises as `list` does."""
        return self._core.facts.in_doubt(self.principal, status=status, limit=limit, cursor=cursor)

    def confirm_doubt(self, doubt_id: str) -> InDoubt:
        """Decide that the newer fact holds: the older one is retired. Raises NotFound, Forbidden or Conflict."""
        return self._core.facts.confirm(self.principal, doubt_id)

    def refute_doubt(self, doubt_id: str) -> InDoubt:
        """Decide that the older fact holds: the newer one is retired. Raises NotFound, Forbidden or Conflict."""
        return self._core.facts.refute(self.principal, doubt_id)

    def dismiss_doubt(self, doubt_id: str) -> InDoubt:
        """Decide that both facts hold. Raises NotFound, Forbidden or Conflict."""
        return self._core.facts.dismiss(self.principal, doubt_id)

    def jobs(
        self,
        *,
        status: JobStatus | None = None,
        kind: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> JobPage:
        """A page of what is done in the background, newest first. Raises InvalidField, InvalidCursor or Forbidden."""
        return self._core.jobs.list(self.principal, status=status, kind=kind, limit=limit, cursor=cursor)

    def get_job(self, job_id: str) -> Job:
        """One job. Raises NotFound or InvalidId."""
        return self._core.jobs.get(self.principal, job_id)

    def retry_job(self, job_id: str) -> Job:
        """Make a job due now; a dead one gets all its attempts again. Raises NotFound, Forbidden or Conflict."""
        return self._core.jobs.retry(self.principal, job_id)

    def drop_job(self, job_id: str) -> Job:
        """Remove a job: what it was to do is not done. Raises NotFound or Forbidden."""
        return self._core.jobs.drop(self.principal, job_id)

    def add_messages(
        self, session: str, messages: Iterable[Message], *, idempotency_key: str | None = None
    ) -> "list[Remembered]":
        """Store messages of a conversation in their order, all or none. Raises as `remember` does."""
        return self._core.ingestion.add_messages(
            self._writing(), session, list(messages), idempotency_key=idempotency_key
        )

    def add_tool_output(
        self,
        session: str,
        *,
        tool_call_id: str,
        tool_name: str,
        content: str,
        event_time: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> ToolOutput:
        """Store what a tool returned: whole under its key, and for recall a preview. Raises as `remember` does."""
        return self._core.ingestion.add_tool_output(
            self._writing(),
            session,
            tool_call_id=tool_call_id,
            tool_name=tool_name,
            content=content,
            event_time=event_time,
            idempotency_key=idempotency_key,
        )

    def tools(self, format: str = "openai") -> "list[dict[str, Any]]":
        """The agent's tools, as the API of a model (`openai`, `anthropic`) or an MCP client (`mcp`) takes them.

        Raises InvalidField.
        """
        return tools.schemas(format)

    def run_tool(
        self, name: str, arguments: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """Run one of the agent's tools with the arguments that a model gave.

        Raises NotFound, InvalidField or as the tool does.
        """
        if idempotency_key is not None and tools.get(name).writes:
            arguments = {"idempotency_key": idempotency_key, **arguments}
        principal = self._writing() if tools.get(name).writes else self.principal
        return tools.run(self._core, principal, name, arguments).result

    def read_tool_output(self, key: str) -> str:
        """The whole payload of a tool output. Raises NotFound or InvalidId."""
        return self._core.ingestion.read_tool_output(self.principal, key)[1]

    def add_document(
        self,
        title: str,
        content: str | bytes,
        *,
        media_type: str = "text/plain",
        document_id: str | None = None,
        shared: bool | None = None,
    ) -> StoredDocument:
        """Store a document in chunks, in place of the one with its id or title. Raises InvalidField or Forbidden."""
        return self._core.ingestion.add_document(
            self._writing(),
            title=title,
            content=content,
            media_type=media_type,
            document_id=document_id,
            shared=shared,
        )

    def get_document(self, document_id: str) -> Document:
        """A document with its whole text. Raises NotFound."""
        return self._core.ingestion.get_document(self.principal, document_id)

    def list_documents(self, *, limit: int = 20, cursor: str | None = None) -> DocumentPage:
        """A page of documents by id, without their texts; pass `next_cursor` back to go on. Raises InvalidField."""
        return self._core.ingestion.list_documents(self.principal, limit=limit, cursor=cursor)

    def forget_document(self, document_id: str) -> Document:
        """Remove a document and soft-delete its chunks. Raises NotFound or Forbidden."""
        return self._core.ingestion.forget_document(self.principal, document_id)

    def wait_until_indexed(self) -> None:
        """Return when every memory of the tenant can be found by meaning. Raises ModelError."""
        for _ in self._core.indexer.finish(self.principal.tenant):
            pass

    def get(self, memory_id: str) -> Memory:
        """One memory in full, by its id in any form; the read is counted. Raises NotFound or InvalidId."""
        return self._core.memories.get(self.principal, memory_id)

    def list(
        self,
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
    ) -> Page:
        """A page of memories, newest first; pass `next_cursor` back to go on. Raises InvalidField or InvalidCursor."""
        return self._core.memories.list(
            self.principal, agent=agent, named=named, kind=kind, category=category, project=project, session=session,
            status=status, order=order, limit=limit, cursor=cursor,
        )  # fmt: skip

    def edit(
        self,
        memory_id: str,
        changes: Mapping[str, Any],
        *,
        expected_version: str | None = None,
        idempotency_key: str | None = None,
    ) -> Memory:
        """Change fields of a memory. With `expected_version=memory.version`, only if nobody else did meanwhile.

        Raises NotFound, Forbidden, InvalidField, StaleVersion, NameTaken or DuplicateContent.
        """
        return self._core.memories.edit(
            self.principal,
            memory_id,
            changes,
            expected_version=expected_version,
            idempotency_key=idempotency_key,
        )

    def forget(
        self, memory_id: str, *, expected_version: str | None = None, idempotency_key: str | None = None
    ) -> Memory:
        """Soft-delete a memory: gone from every list at once. Raises NotFound, Forbidden or StaleVersion."""
        return self._core.memories.forget(
            self.principal, memory_id, expected_version=expected_version, idempotency_key=idempotency_key
        )

    def archive(self, memory_id: str) -> Memory:
        """Take a memory out of recall and lists; it stays readable by its id.

        Raises NotFound, Forbidden or IllegalTransition.
        """
        return self._core.retention.archive(self.principal, memory_id)

    def restore(self, memory_id: str) -> Memory:
        """Bring back a memory that is archived, or deleted and still recoverable.

        Raises NotFound, Forbidden, IllegalTransition, NameTaken or DuplicateContent.
        """
        return self._core.retention.restore(self.principal, memory_id)

    def policy(self) -> PolicyRevision:
        """The tenant's retention policy, for an admin. Raises Forbidden."""
        return self._core.policies.get(self.principal)

    def set_policy(self, changes: Mapping[str, Any], *, dry_run: bool = False) -> PolicyChange:
        """Change the tenant's retention policy, for an admin; the answer says how many rows that touches.

        Raises Forbidden, InvalidField or Conflict.
        """
        return self._core.policies.change(self._writing(), changes, dry_run=dry_run)

    def sweep(self, *, dry_run: bool = False) -> Sweep:
        """Do what time asks for in the tenant, once, for an admin. Raises Forbidden."""
        access.require(self.principal, access.Action.ADMINISTER)
        sweeper = self._core.sweeper
        return sweeper.dry_run(self.principal.tenant) if dry_run else sweeper.sweep(self._writing().tenant)

    def erase(self, *memory_ids: str) -> Receipt:
        """Erase memories for good, whatever their state, also from the bytes of the files; the receipt proves it.

        Raises NotFound or Forbidden before anything is erased, and StoreError where it is to be finished later.
        """
        return self._core.erasure.erase(self.principal, memory_ids)

    def purge(self, user: str | None = None, *, keys: bool = False) -> Receipt:
        """Erase everything of this handle's user, with every agent, or for an admin of any user; `keys`: API keys too.

        Raises Forbidden or InvalidField, and StoreError where it is to be finished later.
        """
        return self._core.erasure.purge_user(self.principal, user, keys=keys)

    def delete_tenant(self, *, at_once: bool = False) -> Receipt:
        """Erase the whole tenant in 30 days, or at once, for an admin. Its keys end now. Raises Forbidden."""
        return self._core.erasure.delete_tenant(self.principal, at_once=at_once)

    def receipt(self, receipt_id: str) -> Receipt:
        """The receipt of an erasure of one's own, or for an admin of any. Raises NotFound or InvalidId."""
        return self._core.erasure.get(self.principal, receipt_id)

    def receipts(self, *, limit: int = 100) -> Sequence[Receipt]:
        """The newest receipts of one's own, or for an admin of the tenant. Raises InvalidField."""
        return self._core.erasure.receipts(self.principal, limit=limit)

    def verify(self, receipt_id: str) -> Verification:
        """Look again for what was erased, in the database and in its files' bytes. Raises NotFound or InvalidId."""
        return self._core.erasure.verifier.verify(self._core.erasure.get(self.principal, receipt_id))

    def events(self, memory_id: str) -> Sequence[Event]:
        """What happened to a memory, oldest first. Raises NotFound or InvalidId."""
        return self._core.memories.events(self.principal, memory_id)

    def changes(self, *, after: str | None = None, wait: float | None = None) -> Iterator[Change]:
        """Changes of memories that this handle sees, as they happen, whichever process makes them.

        Begins after a position (`"0-0"`: from the first change on) or, without one, with the first `next`. Ends when
        none came for `wait` seconds; without `wait`, never. Raises InvalidCursor, or Unauthenticated once the API key
        is revoked.
        """
        return follow_changes(self._core.feed, self._who, after, wait=wait)

    def turn(
        self,
        messages: "Sequence[Message | Mapping[str, Any]]",
        *,
        include_memory: bool = True,
        session: str | None = None,
    ) -> Iterator[TurnEvent]:
        """Ask the language model, with what is remembered, and learn from the exchange: its events as they come.

        `messages` is the conversation so far and ends with the user's. An iterator that is dropped ends the turn soon.
        Raises LlmNotConfigured, BudgetSpent, InvalidField or Forbidden.
        """
        said = [one if isinstance(one, Message) else Message(**one) for one in messages]
        principal = self._writing()
        turn = self._core.turns.start(principal, said, include_memory=include_memory, session=session)
        return self._core.turns.follow(principal, turn.id)

    def get_turn(self, turn_id: str) -> Turn:
        """A turn: how it stands, and what came of it. Raises NotFound or InvalidId."""
        return self._core.turns.get(self.principal, turn_id)

    def turns(self, *, limit: int = 20, cursor: str | None = None) -> TurnPage:
        """A page of turns, newest first. Raises InvalidField or InvalidCursor."""
        return self._core.turns.list(self.principal, limit=limit, cursor=cursor)

    def turn_events(self, turn_id: str, *, after: int = 0) -> Iterator[TurnEvent]:
        """The events of a turn after one of them, until it is over. Raises NotFound or InvalidId."""
        return self._core.turns.follow(self.principal, turn_id, after)

    def section(self, agent: str | None = None) -> Section:
        """The memory section for a system prompt: the named memories of a profile, fenced."""
        return self._core.context.section(self.principal, agent)

    def export(self) -> Iterator[str]:
        """Everything this handle sees, as lines of JSON."""
        return self._core.transfer.export(self.principal)

    def import_(self, lines: Iterable[str]) -> ImportReport:
        """Store what an export holds; what is there already is left alone. Raises InvalidField."""
        report = ImportReport()
        for report in self._core.transfer.import_(self._writing(), lines):  # noqa: B007
            pass
        return report

    def reset(self) -> int:
        """Erase for good everything this handle owns. Returns how many memories went."""
        return self._core.memories.reset(self.principal)


def _awaitable(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """The same method of the wrapped object, on a thread, to be awaited."""

    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self._wrapped, *args, **kwargs)

    call.__name__ = method.__name__
    call.__doc__ = method.__doc__
    return call


async def _one_by_one(items: Iterator[T]) -> AsyncIterator[T]:
    """Each as it comes, waited for on a thread."""
    while found := await asyncio.to_thread(lambda: list(islice(items, 1))):
        yield found[0]


class AsyncHandle:
    """A Handle to be awaited: the same calls, each on a thread."""

    def __init__(self, handle: Handle) -> None:
        self._wrapped = handle

    @property
    def principal(self) -> Principal:
        return self._wrapped.principal

    remember = _awaitable(Handle.remember)
    remember_all = _awaitable(Handle.remember_all)
    recall = _awaitable(Handle.recall)
    remember_fact = _awaitable(Handle.remember_fact)
    extract = _awaitable(Handle.extract)
    history = _awaitable(Handle.history)
    restore_fact = _awaitable(Handle.restore_fact)
    in_doubt = _awaitable(Handle.in_doubt)
    confirm_doubt = _awaitable(Handle.confirm_doubt)
    refute_doubt = _awaitable(Handle.refute_doubt)
    dismiss_doubt = _awaitable(Handle.dismiss_doubt)
    jobs = _awaitable(Handle.jobs)
    get_job = _awaitable(Handle.get_job)
    retry_job = _awaitable(Handle.retry_job)
    drop_job = _awaitable(Handle.drop_job)
    add_messages = _awaitable(Handle.add_messages)
    add_tool_output = _awaitable(Handle.add_tool_output)
    tools = _awaitable(Handle.tools)
    run_tool = _awaitable(Handle.run_tool)
    read_tool_output = _awaitable(Handle.read_tool_output)
    add_document = _awaitable(Handle.add_document)
    get_document = _awaitable(Handle.get_document)
    list_documents = _awaitable(Handle.list_documents)
    forget_document = _awaitable(Handle.forget_document)
    wait_until_indexed = _awaitable(Handle.wait_until_indexed)
    get = _awaitable(Handle.get)
    list = _awaitable(Handle.list)
    edit = _awaitable(Handle.edit)
    forget = _awaitable(Handle.forget)
    archive = _awaitable(Handle.archive)
    restore = _awaitable(Handle.restore)
    policy = _awaitable(Handle.policy)
    set_policy = _awaitable(Handle.set_policy)
    sweep = _awaitable(Handle.sweep)
    erase = _awaitable(Handle.erase)
    purge = _awaitable(Handle.purge)
    delete_tenant = _awaitable(Handle.delete_tenant)
    receipt = _awaitable(Handle.receipt)
    receipts = _awaitable(Handle.receipts)
    verify = _awaitable(Handle.verify)
    events = _awaitable(Handle.events)
    get_turn = _awaitable(Handle.get_turn)
    turns = _awaitable(Handle.turns)
    section = _awaitable(Handle.section)

    async def turn(
        self,
        messages: "Sequence[Message | Mapping[str, Any]]",
        *,
        include_memory: bool = True,
        session: str | None = None,
    ) -> AsyncIterator[TurnEvent]:
        events = await asyncio.to_thread(self._wrapped.turn, messages, include_memory=include_memory, session=session)
        async for event in _one_by_one(events):
            yield event

    turn.__doc__ = Handle.turn.__doc__

    async def turn_events(self, turn_id: str, *, after: int = 0) -> AsyncIterator[TurnEvent]:
        async for event in _one_by_one(self._wrapped.turn_events(turn_id, after=after)):
            yield event

    turn_events.__doc__ = Handle.turn_events.__doc__

    async def export(self) -> AsyncIterator[str]:
        """Everything this handle sees, as lines of JSON, fetched a few at a time."""
        lines = self._wrapped.export()
        while batch := await asyncio.to_thread(lambda: list(islice(lines, _LINES_AT_ONCE))):
            for line in batch:
                yield line

    async def changes(self, *, after: str | None = None, wait: float | None = None) -> AsyncIterator[Change]:
        woken = asyncio.Event()
        loop = asyncio.get_running_loop()
        handle = self._wrapped
        follower = await asyncio.to_thread(
            handle._core.feed.follow, handle._who, after, wake=lambda: loop.call_soon_threadsafe(woken.set)
        )
        is_over = False
        with follower:
            follower.require_known()
            while not follower.closed:
                woken.clear()
                found = await asyncio.to_thread(follower.read, fresh=is_over)
                for change in found:
                    yield change
                if found or follower.is_behind:
                    continue
                if is_over:
                    return
                try:
                    await asyncio.wait_for(woken.wait(), wait)
                except TimeoutError:
                    is_over = True

    changes.__doc__ = Handle.changes.__doc__

    import_ = _awaitable(Handle.import_)
    reset = _awaitable(Handle.reset)


class AsyncMemorist:
    """Memorist for asyncio: `async with await AsyncMemorist.open(path) as m: me = await m.user("ada")`."""

    def __init__(self, wrapped: Memorist) -> None:
        self._wrapped = wrapped

    @classmethod
    async def open(cls, url_or_path: str | Path | None = None) -> Self:
        return cls(await asyncio.to_thread(Memorist.open, url_or_path))

    async def user(
        self, user: str, *, agent: str | None = None, session: str | None = None, tenant: str = "local"
    ) -> AsyncHandle:
        return AsyncHandle(
            await asyncio.to_thread(self._wrapped.user, user, agent=agent, session=session, tenant=tenant)
        )

    async def admin(self, *, user: str | None = None, tenant: str = "local") -> AsyncHandle:
        return AsyncHandle(await asyncio.to_thread(self._wrapped.admin, user=user, tenant=tenant))

    async def with_key(self, api_key: str) -> AsyncHandle:
        return AsyncHandle(await asyncio.to_thread(self._wrapped.with_key, api_key))

    close = _awaitable(Memorist.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _settings_for(url_or_path: str | Path | None) -> Settings:
    if url_or_path is None:
        return load_settings().settings
    text = str(url_or_path)
    is_database = "://" in text or text.endswith(_DATABASE_ENDINGS)
    return load_settings({"database": text} if is_database else {"database": "", "data": text}).settings
