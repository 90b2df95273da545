"""LangGraph's long-term memory: a `BaseStore` that keeps its items as documents of one user.

store = MemoristStore(Memorist.open("./memories").user("ada"))
graph = builder.compile(store=store)

An item is a document whose id is made of its namespace and key, so that reading one is a single lookup; its value is
the text, so that recall finds it, in a search of the store as everywhere else. What others share is no item, whatever
its id.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from memorist.adapters.shared import question_in
from memorist.errors import Forbidden, InvalidJson, NotFound
from memorist.ingestion.service import StoredDocument
from memorist.ingestion.values import Document
from memorist.memories.values import Kind
from memorist.platform import validation
from memorist.platform.values import Owner
from memorist.times import SystemClock
from memorist.verbs import Verbs

Namespace = tuple[str, ...]

_FOLDER = "langgraph/"
# How much of what recall finds is looked at for one search.
_SEARCHED_TOKENS = 50_000
# A read within this part of a time to live does not write the new expiry down: it would be a write for every read.
_FRESH = 0.05


@dataclass(frozen=True, slots=True)
class _Listed:
    """An item in the list: where it is, without what it holds."""

    id: str
    namespace: Namespace
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class _Stored:
    """An item with the id of its document and what the store itself notes about it."""

    id: str
    item: Item
    ttl: float | None
    expires_at: datetime | None
    index: bool | list[str]


class MemoristStore(BaseStore):
    """A LangGraph store over a handle of the library or a `Client`, for one user. Safe to share between threads.

    Everything is searched by words and by meaning, without an `index` of its own: `index=False` puts an item after
    all that a query finds, without a score, and a list of fields says which come first. `ttl` sets the defaults of the
    time to live.
    """

    supports_ttl = True
    __slots__ = ("_memories", "_now", "_owner", "ttl_config")

    def __init__(
        self,
        memories: Verbs,
        *,
        ttl: TTLConfig | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self._memories = memories
        self._owner: Owner | None = None
        self._now = now or SystemClock().now
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see the store as it was before the writes; of several writes of one item the last holds.

        Raises Forbidden where the handle or the client acts for nobody.
        """
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
        self._whose()
        results = [None if isinstance(op, PutOp) else self._read(op) for op in asked]
        for put in {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}.values():
            self._put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep(self) -> int:
        """Remove the items whose time is over, and return how many. They are found by nobody before that either."""
        expired = [stored.id for stored in self._all() if self._is_expired(stored)]
        for document_id in expired:
            self._forget(document_id)
        return len(expired)

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            stored = self._get(_document_id(op.namespace, op.key))
            if stored is not None and op.refresh_ttl:
                self._refresh(stored)
            # Under the name that it was asked for: one that was stored long ago may have lost a secret in it.
            return None if stored is None else _named(stored.item, op.namespace, op.key)
        if isinstance(op, SearchOp):
            return list(self._search(op))
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"There is no operation {type(op).__name__}.")

    # Items

    def _get(self, document_id: str) -> _Stored | None:
        stored = self._stored(document_id)
        if stored is not None and self._is_expired(stored):
            self._forget(stored.id)
            return None
        return stored

    def _stored(self, document_id: str) -> _Stored | None:
        document = self._document(document_id)
        return None if document is None else _decoded(document)

    def _document(self, document_id: str) -> Document | None:
        try:
            document = self._memories.get_document(document_id)
        except NotFound:
            return None
        return document if self._has(document.owner) else None

    def _has(self, owner: Owner) -> bool:
        """Whether what belongs to that owner is of this store. Anybody can give a shared document the id of an item."""
        return owner.has_name and owner.user == self._whose().user

    def _whose(self) -> Owner:
        """Whom the store is of; asked once. Raises Forbidden where it would be everybody."""
        if self._owner is None:
            principal = self._memories.principal
            owner = Owner(principal.user, principal.agent)
            if not owner.has_name:
                raise Forbidden("The items of a store are one user's, and this key acts for nobody. Name the user.")
            self._owner = owner
        return self._owner

    def _put(self, op: PutOp) -> None:
        if op.value is None:
            self._forget(_document_id(op.namespace, op.key))
            return
        _check_numbers(op.value)
        index = op.index if op.index is False else (op.index or True)
        title, document_id = _title(op.namespace, op.key), _document_id(op.namespace, op.key)
        written = self._write(document_id, title, dict(op.value), op.ttl, index)
        if written.was_new and written.document.title != title:
            # Without its place, which was taken for a secret, no search would lead to it.
            self._forget(document_id)
            raise ValueError(
                "The namespace or the key holds a secret, which is not stored: the place would be "
                f"{written.document.title}. Use another, a hash of it for example."
            )

    def _write(
        self, document_id: str, title: str, value: dict[str, Any], ttl: float | None, index: bool | list[str]
    ) -> StoredDocument:
        note: dict[str, Any] = {}
        if ttl is not None:
            note = {"ttl": ttl, "expires_at": (self._now() + timedelta(minutes=ttl)).isoformat()}
        if index is not True:
            note["index"] = index
        first = (
            []
            if isinstance(index, bool)
            else [t for path in index for t in get_text_at_path(value, tokenize_path(path))]
        )
        text = json.dumps(
            {"fields": first, "value": value, **note} if first else {"value": value, **note}, ensure_ascii=False
        )
        return self._memories.add_document(title, text, document_id=document_id, shared=False)

    def _forget(self, document_id: str) -> None:
        if self._document(document_id) is None:
            return  # What may be there besides is not the store's.
        try:
            self._memories.forget_document(document_id)
        except NotFound:
            pass  # Somebody else did.

    def _refresh(self, stored: _Stored) -> None:
        """Start an item's time anew, since it was read."""
        if stored.ttl is None or stored.expires_at is None:
            return
        span = timedelta(minutes=stored.ttl)
        if self._now() + span - stored.expires_at >= span * _FRESH:
            item = stored.item
            self._write(stored.id, _title(item.namespace, item.key), item.value, stored.ttl, stored.index)

    def _is_expired(self, stored: _Stored) -> bool:
        return stored.expires_at is not None and stored.expires_at <= self._now()

    # Searching

    def _search(self, op: SearchOp) -> Iterator[SearchItem]:
        scores = self._scores(op.query)
        listed = [one for one in self._list() if _is_below(one.namespace, op.namespace_prefix)]
        listed.sort(key=lambda one: (-scores.get(one.id, -1.0), -one.updated_at.timestamp(), one.id))
        found = 0
        unscored = []
        for one in listed:
            if found >= op.offset + op.limit:
                return
            stored = self._get(one.id)
            if stored is None or not _matches(stored.item.value, op.filter or {}):
                continue
            if op.query and stored.index is False and one.id in scores:
                unscored.append(stored)
                continue
            found += 1
            if found > op.offset:
                yield self._found(stored, scores.get(one.id), op.refresh_ttl)
        # What is not to be searched comes last, where there is room.
        for stored in unscored[max(0, op.offset - found) :][: op.limit - max(0, found - op.offset)]:
            yield self._found(stored, None, op.refresh_ttl)

    def _found(self, stored: _Stored, score: float | None, refresh: bool) -> SearchItem:
        if refresh:
            self._refresh(stored)
        item = stored.item
        return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)

    def _scores(self, query: str | None) -> dict[str, float]:
        """How well each item answers, by the best of its parts."""
        question = question_in(query)
        if not question:
            return {}
        recalled = self._memories.recall(
            question, source_kinds=[Kind.DOCUMENT_CHUNK], budget_tokens=_SEARCHED_TOKENS, min_score=0.0
        )
        scores: dict[str, float] = {}
        for hit in recalled.hits:
            source = hit.memory.source_ref or ""
            if source.startswith(_FOLDER) and self._has(hit.memory.owner):
                scores[source] = max(hit.score, scores.get(source, 0.0))
        return scores

    def _all(self) -> Iterator[_Stored]:
        for one in list(self._list()):
            stored = self._stored(one.id)
            if stored is not None:
                yield stored

    def _list(self) -> Iterator[_Listed]:
        for document in self._memories.iterate_documents():
            if document.id.startswith(_FOLDER) and self._has(document.owner):
                item = _item_of(document.title)
                if item is not None:
                    yield _Listed(document.id, item[0], document.updated_at)

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        found = {
            one.namespace[: op.max_depth]
            for one in self._list()
            if all(_fits(condition, one.namespace) for condition in conditions)
        }
        return sorted(found)[op.offset : op.offset + op.limit]


def _document_id(namespace: Namespace, key: str) -> str:
    return _FOLDER + hashlib.sha256(json.dumps([*namespace, key]).encode()).hexdigest()


def _title(namespace: Namespace, key: str) -> str:
    """The place in full, in the one line that a title is. Raises ValueError where it is too long."""
    readable, plain = (json.dumps([*namespace, key], ensure_ascii=ascii) for ascii in (False, True))
    title = readable if len(readable.splitlines()) == 1 else plain
    if len(title) > validation.MAX_LINE:
        raise ValueError(f"A namespace and its key take at most about {validation.MAX_LINE} characters together.")
    return title


def _item_of(title: str) -> tuple[Namespace, str] | None:
    """The namespace and the key that a title tells; None where it is no place."""
    try:
        labels = json.loads(title)
    except ValueError:
        return None
    if not isinstance(labels, list) or len(labels) < 2 or not all(isinstance(label, str) for label in labels):
        return None
    return tuple(labels[:-1]), labels[-1]


def _check_numbers(value: Any) -> None:
    """Raises ValueError for numbers that JSON does not have: no other program could read the item."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise ValueError("The value of an item is plain JSON, without NaN or infinity.") from error


def _decoded(document: Document) -> _Stored:
    item = _item_of(document.title)
    try:
        record = json.loads(document.content)
        value = record["value"]
    except (ValueError, LookupError, TypeError):
        value = None
    if item is None or not isinstance(value, dict):
        raise InvalidJson(f"The item {document.title} cannot be read: it was changed outside of the store.")
    item = Item(
        value=value,
        key=item[1],
        namespace=item[0],
        created_at=document.created_at,
        updated_at=document.updated_at,
    )
    expires_at = record.get("expires_at")
    return _Stored(
        document.id,
        item,
        record.get("ttl"),
        None if expires_at is None else datetime.fromisoformat(expires_at),
        record.get("index", True),
    )


def _named(item: Item, namespace: Namespace, key: str) -> Item:
    return Item(
        value=item.value,
        key=key,
        namespace=namespace,
        created_at=item.created_at,
        updated_at=item.updated_at,
    )


def _is_below(namespace: Namespace, prefix: Namespace) -> bool:
    return namespace[: len(prefix)] == tuple(prefix)


def _fits(condition: MatchCondition, namespace: Namespace) -> bool:
    pattern = condition.path
    if len(namespace) < len(pattern):
        return False
    part = namespace[: len(pattern)] if condition.match_type == "prefix" else namespace[len(namespace) - len(pattern) :]
    return all(wanted in ("*", label) for wanted, label in zip(pattern, part, strict=True))


def _matches(value: Any, wanted: dict[str, Any]) -> bool:
    return all(_agrees(value.get(field), one) for field, one in wanted.items())


def _agrees(value: Any, wanted: Any) -> bool:
    """Whether a value is the one that a filter asks for: equal, as its operators say, or part by part."""
    if isinstance(wanted, dict):
        if any(name.startswith("$") for name in wanted):
            return all(_compares(value, operator, operand) for operator, operand in wanted.items())
        return isinstance(value, dict) and _matches(value, wanted)
    if isinstance(wanted, list | tuple):
        is_as_long = isinstance(value, list | tuple) and len(value) == len(wanted)
        return is_as_long and all(_agrees(one, other) for one, other in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _compares(value: Any, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return bool(value == operand)
    if operator == "$ne":
        return bool(value != operand)
    compare = _ORDERS.get(operator)
    if compare is None:
        raise ValueError(f"There is no operator {operator}.")
    try:
        return compare(float(value), float(operand))
    except (TypeError, ValueError):
        return False  # What has no order is neither more nor less.


_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "$gt": lambda one, other: one > other,
    "$gte": lambda one, other: one >= other,
    "$lt": lambda one, other: one < other,
    "$lte": lambda one, other: one <= other,
}
