"""Remember, recall, read, list, change and forget, through the native door."""

import re
from builtins import list as List
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from memorist.codec import to_record
from memorist.composing.values import Composed, Section
from memorist.errors import StaleVersion
from memorist.memories.values import Draft, Kind, Memory, Order, Remembered, Retention, Status, Trust
from memorist.platform import validation
from memorist.platform.paging import Page
from memorist.platform.values import Event, Owner
from memorist.recall.values import Question, Recalled, Scope
from memorist.verbs.kinds import Call, Verb, id_part, reading, told, told_as, without_none

RECORDS = "/v1/records"
_VERSION = re.compile(r"[!#-~]+")


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
) -> Verb[Remembered]:
    """Store one memory durably. `was_new` is False where this owner already has that fact in that category.

    Raises InvalidField, Forbidden, NameTaken, IdempotencyMismatch, IdempotencyInFlight or StoreError.
    """
    draft = Draft(
        content, kind, category, name, description, excerpt, importance, confidence, relevance, meta,
        source_ref, trust, project, session, retention, event_time, owner, ttl,
    )  # fmt: skip
    return Verb(
        lambda me: me.core.memories.remember(me.writing(), [draft], idempotency_key=idempotency_key)[0],
        lambda: _writing("POST", RECORDS, told(Remembered), _given(draft), idempotency_key),
    )


def remember_all(drafts: Iterable[Draft], *, idempotency_key: str | None = None) -> Verb[List[Remembered]]:
    """Store all drafts in one transaction, or none."""
    given = [*validation.each("drafts", drafts)]
    body = told_as("data", List[Remembered])
    return Verb(
        lambda me: me.core.memories.remember(me.writing(), given, idempotency_key=idempotency_key),
        lambda: _writing("POST", f"{RECORDS}/batch", body, {"records": [*map(_given, given)]}, idempotency_key),
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
) -> Verb[Recalled]:
    """The memories that answer a question, best first. Raises InvalidField, NotFound (of `why_not`) or StoreError.

    `as_of` and `known_at` bring back what was true, or known, at a moment; `after` and `before` bound when it was
    said; `budget_tokens` fills a budget instead of counting to `top_k`; `min_score` is where relevance ends.
    """
    question = Question(
        query, top_k, source_kinds, scope, enable_rerank, as_of, known_at, after, before, category, project,
        budget_tokens, min_score, explain, why_not,
    )  # fmt: skip

    def ask() -> Call[Recalled]:
        for kind in () if source_kinds is None else validation.each("source_kinds", source_kinds):
            validation.choice("source_kinds", kind, Kind)
        return Call("POST", f"{RECORDS}/recall", told(Recalled), body=_given(question), reads=True)

    return Verb(lambda me: me.core.recall.recall(me.principal, question), ask)


def get(memory_id: str) -> Verb[Memory]:
    """One memory in full, by its id in any form; the read is counted. Raises NotFound or InvalidId."""
    return Verb(
        lambda me: me.core.memories.get(me.principal, memory_id),
        lambda: reading(_path(memory_id), Memory),
    )


def list(
    *,
    agent: str | None = None,
    every_agent: bool = False,
    named: bool = False,
    kind: Kind | None = None,
    category: str | None = None,
    project: str | None = None,
    session: str | None = None,
    status: Status = Status.ACTIVE,
    order: Order = Order.NEWEST,
    limit: int = 20,
    cursor: str | None = None,
) -> Verb[Page[Memory]]:
    """A page of memories, newest first; pass `next_cursor` back to go on. Of no agent but the one that is named, or of
    every one.

    Raises InvalidField or InvalidCursor.
    """
    asked: dict[str, Any] = {
        "agent": agent, "every_agent": every_agent, "named": named, "kind": kind, "category": category,
        "project": project, "session": session, "status": status, "order": order, "limit": limit, "cursor": cursor,
    }  # fmt: skip

    def read(record: Any) -> Page[Memory]:
        return Page(told_as("data", tuple[Memory, ...])(record), record["next_cursor"])

    return Verb(
        lambda me: me.core.memories.list(me.principal, **asked),
        lambda: Call("GET", RECORDS, read, asked, reads=True),
    )


def edit(
    memory_id: str,
    changes: Mapping[str, Any],
    *,
    expected_version: str | None = None,
    idempotency_key: str | None = None,
) -> Verb[Memory]:
    """Change fields of a memory. With `expected_version=memory.version`, only if nobody else did meanwhile.

    Raises NotFound, Forbidden, InvalidField, StaleVersion, NameTaken or DuplicateContent.
    """
    return Verb(
        lambda me: me.core.memories.edit(
            me.principal, memory_id, changes, expected_version=expected_version, idempotency_key=idempotency_key
        ),
        lambda: _writing(
            "PATCH", _path(memory_id), told(Memory), to_record(changes), idempotency_key, expected_version
        ),
    )


def forget(memory_id: str, *, expected_version: str | None = None, idempotency_key: str | None = None) -> Verb[Memory]:
    """Soft-delete a memory: gone from every list at once. Raises NotFound, Forbidden or StaleVersion."""
    return Verb(
        lambda me: me.core.memories.forget(
            me.principal, memory_id, expected_version=expected_version, idempotency_key=idempotency_key
        ),
        lambda: _writing("DELETE", _path(memory_id), told(Memory), None, idempotency_key, expected_version),
    )


def archive(memory_id: str) -> Verb[Memory]:
    """Take a memory out of recall and lists; it stays readable by its id.

    Raises NotFound, Forbidden or IllegalTransition.
    """
    return Verb(
        lambda me: me.core.retention.archive(me.principal, memory_id),
        lambda: Call("POST", _path(memory_id, "archive"), told(Memory)),
    )


def restore(memory_id: str) -> Verb[Memory]:
    """Bring back a memory that is archived, or deleted and still recoverable.

    Raises NotFound, Forbidden, IllegalTransition, NameTaken or DuplicateContent.
    """
    return Verb(
        lambda me: me.core.retention.restore(me.principal, memory_id),
        lambda: Call("POST", _path(memory_id, "restore"), told(Memory)),
    )


def events(memory_id: str) -> Verb[Sequence[Event]]:
    """What happened to a memory, oldest first. Raises NotFound or InvalidId."""
    return Verb(
        lambda me: me.core.memories.events(me.principal, memory_id),
        lambda: Call("GET", _path(memory_id, "events"), told_as("data", List[Event]), reads=True),
    )


def context(question: str = "", *, project: str | None = None, budget_tokens: int | None = None) -> Verb[Composed]:
    """What an agent is given for a question, as one text for its prompt: what is known of the user, what changed
    lately, and what recall finds. Each line has its date, nothing comes twice, and it fits the budget.

    Raises InvalidField or StoreError.
    """
    asked = {"question": question, "project": project, "budget_tokens": budget_tokens}
    return Verb(
        lambda me: me.core.composer.compose(me.principal, question, project=project, budget_tokens=budget_tokens),
        lambda: Call("POST", "/v1/context", told(Composed), body=asked, reads=True),
    )


def section(agent: str | None = None) -> Verb[Section]:
    """The memory section for a system prompt, fenced: the named memories of a profile, and what is known."""
    return Verb(
        lambda me: me.core.composer.section(me.principal, agent),
        lambda: Call(
            "GET",
            "/v1/memories/section",
            lambda record: Section(record["section"], record["count"]),
            {"profile_id": None if agent is None else validation.identifier("agent", agent)},
            reads=True,
        ),
    )


def _path(memory_id: str, *below: str) -> str:
    return "/".join([RECORDS, id_part("mem", memory_id), *below])


def _given(value: Draft | Question) -> dict[str, Any]:
    """Only what says something: the server fills in the rest in the same way."""
    return without_none(**to_record(value))


def _writing(
    method: str, path: str, decode: Any, body: Any, idempotency_key: str | None, version: str | None = None
) -> Call[Any]:
    if version is not None and not _VERSION.fullmatch(version):
        raise StaleVersion  # No memory ever had it, and no header could tell it.
    headers = {} if version is None else {"If-Match": f'"{version}"'}
    return Call(method, path, decode, body=body, headers=headers, writes=True, idempotency_key=idempotency_key)
