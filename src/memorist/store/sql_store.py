"""The one store: ports.Store over a driver and its named statements."""

import heapq
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from memorist.ingestion.values import Document, DocumentPosition
from memorist.memories.values import Memory, Order, Query
from memorist.platform.values import ApiKey, Event, IdempotencyRecord, Owner, OwnerFilter, SignIn, SignInKind, Tenant
from memorist.ports import Reader, Writer
from memorist.recall.values import Embedded, IndexCounts, IndexPage, IndexPlace, IndexRow
from memorist.store.browsing import BrowsingStatements
from memorist.store.companion import CompanionStatements
from memorist.store.dossiers import DossierStatements
from memorist.store.drivers import Connection, Driver, Values
from memorist.store.erasure import ErasureStatements
from memorist.store.facts import FactStatements
from memorist.store.feed import FeedStatements
from memorist.store.file_search import find_in_files
from memorist.store.jobs import JobStatements
from memorist.store.lifecycle import LifecycleStatements, due_micros
from memorist.store.migrations import Migrator, load_migrations
from memorist.store.overview import OverviewStatements
from memorist.store.places import PLACES
from memorist.store.recalls import RecallStatements
from memorist.store.rows import (
    MEMORY_PARAMETERS,
    document_from_row,
    document_to_parameters,
    index_to_parameters,
    key_from_row,
    key_to_parameters,
    memory_from_row,
    memory_to_values,
)
from memorist.store.sign_ins import SignInStatements
from memorist.store.statements import load_statements
from memorist.store.tenant_statements import TenantStatements
from memorist.store.traces import TraceStatements
from memorist.store.turns import TurnStatements
from memorist.times import from_micros, to_micros

T = TypeVar("T")

# Before every row: later than any time, after any id in byte order, above any importance.
_BEFORE_ALL = {"after_time": 2**62, "after_id": "~", "after_importance": 2**31 - 1}


class SqlStore:
    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.instant_reads = driver.instant_reads
        self._tell: list[Callable[[str], None]] = []
        self._statements = load_statements(driver.dialect)
        self.migrator = Migrator(driver, self._statements, load_migrations(driver.dialect))

    def read(self, tenant: str, work: Callable[[Reader], T], *, snapshot: bool = True) -> T:
        return self.driver.read(
            tenant, lambda connection: work(self._transaction(connection, tenant)), snapshot=snapshot
        )

    def write(self, tenant: str, work: Callable[[Writer], T]) -> T:
        result = self.driver.write(tenant, lambda connection: work(self._transaction(connection, tenant)))
        for tell in self._tell:
            tell(tenant)
        return result

    def on_write(self, tell: Callable[[str], None]) -> None:
        self._tell.append(tell)

    def _transaction(self, connection: Connection, tenant: str) -> "SqlTransaction":
        return SqlTransaction(connection, tenant, self._statements, self.driver.encode_list)

    # What is known before, or above, a tenant

    def create_tenant(self, tenant: Tenant) -> bool:
        row = {"id": tenant.id, "created_at": to_micros(tenant.created_at)}
        return self.driver.write(None, lambda connection: connection.run(self._statements["insert_tenant"], row)) == 1

    def list_tenants(self) -> list[Tenant]:
        return [Tenant(row[0], from_micros(row[1])) for row in self._global_rows("list_tenants", {})]

    def index_model(self, tenant: str) -> str | None:
        rows = self._global_rows("find_index_model", {"tenant": tenant})
        return rows[0][0] if rows else None

    def set_index_model(self, tenant: str, model: str) -> None:
        statement = self._statements["set_index_model"]
        self.driver.write(None, lambda connection: connection.run(statement, {"tenant": tenant, "model": model}))

    def find_key(self, secret_hash: str) -> ApiKey | None:
        rows = self._global_rows("find_key", {"secret_hash": secret_hash})
        return key_from_row(rows[0]) if rows else None

    def has_keys(self) -> bool:
        return bool(self._global_rows("any_key", {}))

    def find_sign_in(self, token_hash: str) -> SignIn | None:
        rows = self._global_rows("find_sign_in", {"token_hash": token_hash})
        if not rows:
            return None
        kind, created_at, expires_at, *key = rows[0]
        return SignIn(SignInKind(kind), key_from_row(tuple(key)), from_micros(created_at), from_micros(expires_at))

    def ping(self) -> None:
        self._global_rows("ping", {})

    def _global_rows(self, name: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        statement = self._statements[name]
        return self.driver.read(None, lambda connection: connection.rows(statement, parameters), snapshot=False)

    # Upkeep

    def check(self, *, thorough: bool = True) -> dict[str, str]:
        """The database's own checks, and ours: every row has its place in the index and its `created` event."""
        findings = self.driver.health(thorough)
        for tenant in self.list_tenants():
            findings[f"tenant {tenant.id}"] = self.driver.read(tenant.id, partial(self._check_tenant, tenant.id))
        return findings

    def _check_tenant(self, tenant: str, connection: Connection) -> str:
        names = ("count_memories", "count_index_rows", "count_created", "count_orphan_events")
        rows, indexed, created, orphans = (
            connection.rows(self._statements[name], {"tenant": tenant})[0][0] for name in names
        )
        if rows == indexed == created and orphans == 0:
            return "ok"
        return f"{rows} rows, {indexed} of them indexed, {created} created events, {orphans} events of no memory"

    def checkpoint(self, *, erased: bool = False) -> None:
        self.driver.checkpoint(erased=erased)

    def scrub(self, tenant: str, *, rewrite: bool = True) -> tuple[str, ...]:
        return self.driver.scrub(tenant, [place.table for place in PLACES if not place.kept], rewrite=rewrite)

    def search_files(self, pieces: Collection[bytes]) -> frozenset[bytes] | None:
        files = self.driver.files()
        return find_in_files(files, pieces) if files else None

    def own_words(self) -> bytes:
        return "\n".join(row[0] for row in self._global_rows("list_own_words", {})).encode()

    def describe(self) -> Mapping[str, str | int]:
        return self.driver.describe()

    def backup(self, path: Path) -> None:
        self.driver.backup(path)

    def close(self) -> None:
        self.driver.close()


class SqlTransaction(
    BrowsingStatements,
    CompanionStatements,
    DossierStatements,
    FactStatements,
    ErasureStatements,
    FeedStatements,
    JobStatements,
    LifecycleStatements,
    OverviewStatements,
    RecallStatements,
    SignInStatements,
    TraceStatements,
    TurnStatements,
    TenantStatements,
):
    """One tenant's view inside a transaction."""

    __slots__ = ()

    # Memories

    def get_memory(self, memory_id: str) -> Memory | None:
        rows = self._rows("get_memory", id=memory_id)
        return memory_from_row(rows[0]) if rows else None

    def get_memories(self, memory_ids: Sequence[str]) -> list[Memory]:
        return [memory_from_row(row) for row in self._rows("get_memories", ids=self._encode_list(memory_ids))]

    def find_named(self, user: str | None, agent: str | None, name: str) -> Memory | None:
        rows = self._rows("find_named", user_id=user or "", agent_id=agent or "", name=name)
        return memory_from_row(rows[0]) if rows else None

    def find_duplicate(self, user: str | None, agent: str | None, dedup_key: str) -> Memory | None:
        rows = self._rows("find_duplicate", user_id=user or "", agent_id=agent or "", dedup_key=dedup_key)
        return memory_from_row(rows[0]) if rows else None

    def list_memories(self, query: Query, now: datetime) -> list[Memory]:
        # Each slice of owners is one walk of one index; the merge of a few short lists beats any OR in SQL.
        slices = [self._list_slice(query, owner, now) for owner in query.owners]
        if len(slices) == 1:
            return slices[0]
        sort_key = _SORT_KEYS[query.order]
        return list(heapq.merge(*slices, key=sort_key, reverse=True))[: query.limit]

    def _list_slice(self, query: Query, owner: OwnerFilter, now: datetime) -> list[Memory]:
        shelf = "named_" if query.named else ""
        breadth = "tenant" if owner.any_user else "user" if owner.any_agent else "owner"
        after = _BEFORE_ALL
        if query.after is not None:
            after = {
                "after_time": to_micros(query.after.created_at),
                "after_id": query.after.id,
                "after_importance": query.after.importance,
            }
        rows = self._rows(
            f"list_{shelf}{query.order}_of_{breadth}",
            user_id=owner.user or "",
            agent_id=None if owner.any_agent else owner.agent or "",
            status=query.status,
            now=to_micros(now),
            kind=query.kind,
            category=query.category,
            project=query.project,
            session_id=query.session,
            limit=query.limit,
            **after,
        )
        return [memory_from_row(row) for row in rows]

    def scan_memories(self, owner: OwnerFilter, after_id: str, limit: int) -> list[Memory]:
        rows = self._rows("scan_memories", after_id=after_id, limit=limit, **_slice(owner))
        return [memory_from_row(row) for row in rows]

    def insert_memory(self, memory: Memory) -> bool:
        if self._connection.run(self._statements["insert_memory"], self._values(memory)) != 1:
            return False
        self._run("insert_index", **index_to_parameters(memory))
        return True

    def insert_memories(self, memories: Sequence[Memory]) -> bool:
        if len(memories) == 1:
            return self.insert_memory(memories[0])
        rows = [self._values(memory) for memory in memories]
        if self._connection.run_many(self._statements["insert_memory"], rows) != len(rows):
            return False
        index = [{"tenant": self._tenant, **index_to_parameters(memory)} for memory in memories]
        self._connection.run_many(self._statements["insert_index"], index)
        return True

    def _values(self, memory: Memory) -> Values:
        return (*memory_to_values(memory, self._tenant), due_micros(memory))

    def replace_memory(self, memory: Memory, expected_updated_at: datetime) -> bool:
        parameters = dict(zip(MEMORY_PARAMETERS, memory_to_values(memory, self._tenant), strict=True))
        parameters |= {"expected_updated_at": to_micros(expected_updated_at), "due_at": due_micros(memory)}
        if self._run("replace_memory", **parameters) != 1:
            return False
        row = index_to_parameters(memory)
        if self._run("replace_index", **row) == 0:
            # The memory has another user now, or was in no index yet.
            moved = self._run("move_index", user_id=row["user_id"], memory_id=memory.id)
            self._run("replace_index" if moved else "insert_index", **row)
        return True

    def add_accesses(self, accesses: Mapping[str, tuple[int, datetime]]) -> None:
        # In id order, so that two processes flushing the same rows cannot lock each other out.
        rows = [
            {"tenant": self._tenant, "id": memory_id, "reads": reads, "at": to_micros(at)}
            for memory_id, (reads, at) in sorted(accesses.items())
        ]
        self._connection.run_many(self._statements["add_access"], rows)

    def erase_memories(self, memory_ids: Sequence[str]) -> int:
        self._note_erasures(memory_ids)
        ids = self._encode_list(memory_ids)
        for statement in ("purge_doubts_of_memories", "erase_events", "erase_index", "erase_tool_outputs"):
            self._run(statement, ids=ids)
        erased = self._run("erase_memories", ids=ids)
        self._run("erase_recalls", ids=ids)
        return erased

    # What is searched

    def turn_before(self, memory: Memory) -> Memory | None:
        owner = memory.owner
        rows = self._rows(
            "turn_before",
            user_id=owner.user or "",
            agent_id=owner.agent or "",
            session_id=memory.session or "",
            id=memory.id,
        )
        return memory_from_row(rows[0]) if rows else None

    def load_index(self, user: str | None, after_id: str, limit: int) -> list[IndexRow]:
        return list(map(IndexRow._make, self._rows("load_index", user_id=user or "", after_id=after_id, limit=limit)))

    def follow_index(self, places: Sequence[IndexPlace], limit: int) -> list[IndexPage]:
        asked = [
            {"user_id": place.user or "", "since": place.change, "after_id": place.memory_id, "limit": limit}
            for place in places
        ]
        # Each row comes with the watermark; where nothing changed, it comes alone.
        return [
            IndexPage(rows[0][0], [IndexRow._make(row[1:]) for row in rows if row[1] is not None])
            for rows in self._rows_of_each("follow_index", asked)
        ]

    def index_watermark(self, user: str | None) -> int:
        watermark: int = self._rows("index_watermark", user_id=user or "")[0][0]
        return watermark

    def index_users(self) -> list[str | None]:
        return [row[0] or None for row in self._rows("index_users")]

    def count_index(self, model: str) -> IndexCounts:
        return IndexCounts(*map(int, self._rows("count_index", model=model)[0]))

    def has_waiting(self) -> bool:
        return bool(self._rows("any_waiting"))

    def claim_waiting(self, now: datetime, until: datetime, limit: int) -> list[str]:
        rows = self._rows("claim_waiting", now=to_micros(now), until=to_micros(until), limit=limit)
        return [row[0] for row in rows]

    def release_claims(self, until: datetime | None = None) -> None:
        self._run("release_claims", until=None if until is None else to_micros(until))

    def save_vectors(self, embedded: Iterable[Embedded]) -> int:
        rows = [
            {
                "tenant": self._tenant,
                "memory_id": one.memory_id,
                "user_id": one.user or "",
                "digest": one.digest,
                "terms": one.terms,
                "model": one.model,
                "vectors": one.vectors,
            }
            # In id order, so that two processes never wait for each other.
            for one in sorted(embedded, key=lambda one: one.memory_id)
        ]
        return self._connection.run_many(self._statements["save_vectors"], rows)

    def unindex(self, model: str, limit: int) -> int:
        return self._run("unindex", model=model, limit=limit)

    def adopt_rows(self, limit: int) -> int:
        rows = self._rows("list_unindexed", limit=limit)
        for row in rows:
            self._run("insert_index", **index_to_parameters(memory_from_row(row)))
        return len(rows)

    # Payloads and documents

    def get_tool_output(self, memory_id: str) -> str | None:
        rows = self._rows("get_tool_output", memory_id=memory_id)
        return rows[0][0] if rows else None

    def insert_tool_output(self, memory_id: str, content: str) -> None:
        self._run("insert_tool_output", memory_id=memory_id, content=content)

    def get_document(self, owner: Owner, document_id: str) -> Document | None:
        rows = self._rows("get_document", user_id=owner.user or "", agent_id=owner.agent or "", id=document_id)
        return document_from_row(rows[0]) if rows else None

    def find_document_of(self, owner: OwnerFilter, document_id: str) -> Document | None:
        rows = self._rows("find_document_of", id=document_id, **_slice(owner))
        return document_from_row(rows[0]) if rows else None

    def find_document(self, owner: Owner, title: str) -> Document | None:
        rows = self._rows("find_document", user_id=owner.user or "", agent_id=owner.agent or "", title=title)
        return document_from_row(rows[0]) if rows else None

    def list_documents(
        self, owner: OwnerFilter, after: Document | DocumentPosition | None, limit: int, *, whole: bool
    ) -> list[Document]:
        place = ("", "", "") if after is None else (after.id, after.owner.user or "", after.owner.agent or "")
        rows = self._rows(
            "list_documents",
            after_id=place[0],
            after_user=place[1],
            after_agent=place[2],
            characters=2**31 - 1 if whole else 0,
            limit=limit,
            **_slice(owner),
        )
        return [document_from_row(row) for row in rows]

    def chunks_of(self, document: Document) -> list[Memory]:
        owner = document.owner
        rows = self._rows("chunks_of", user_id=owner.user or "", agent_id=owner.agent or "", document_id=document.id)
        return [memory_from_row(row) for row in rows]

    def put_document(self, document: Document) -> None:
        self._run("put_document", **document_to_parameters(document))

    def erase_document(self, document: Document) -> None:
        owner = document.owner
        self._run("erase_document", user_id=owner.user or "", agent_id=owner.agent or "", id=document.id)

    def erase_documents(self, owner: OwnerFilter) -> int:
        return self._run("erase_documents", **_slice(owner))

    # Events

    def list_events(self, memory_ids: Sequence[str]) -> list[Event]:
        rows = self._rows("list_events", ids=self._encode_list(memory_ids))
        return [Event(row[0], row[1], row[2], from_micros(row[3]), row[4], json.loads(row[5]), row[6]) for row in rows]

    # Remembered requests

    def find_idempotency(self, principal: str, route: str, key: str) -> IdempotencyRecord | None:
        rows = self._rows("find_idempotency", principal=principal, route=route, key=key)
        if not rows:
            return None
        principal, route, key, user, request_hash, response, created_at, expires_at = rows[0]
        return IdempotencyRecord(
            principal,
            route,
            key,
            user or None,
            request_hash,
            response,
            from_micros(created_at),
            from_micros(expires_at),
        )

    def insert_idempotency(self, record: IdempotencyRecord) -> bool:
        inserted = self._run(
            "insert_idempotency",
            principal=record.principal,
            route=record.route,
            key=record.key,
            user_id=record.user or "",
            request_hash=record.request_hash,
            response=record.response,
            created_at=to_micros(record.created_at),
            expires_at=to_micros(record.expires_at),
        )
        return inserted == 1

    def drop_expired_idempotency(self, now: datetime) -> int:
        return self._run("drop_expired_idempotency", now=to_micros(now))

    def erase_idempotency(self, user: str | None) -> int:
        return self._run("erase_idempotency", user_id=user)

    # Keys

    def list_keys(self) -> list[ApiKey]:
        return [key_from_row(row) for row in self._rows("list_keys")]

    def insert_key(self, key: ApiKey) -> None:
        self._run("insert_key", **key_to_parameters(key))

    def revoke_key(self, key_id: str, at: datetime) -> bool:
        return self._run("revoke_key", id=key_id, at=to_micros(at)) == 1

    def touch_keys(self, uses: Mapping[str, datetime]) -> None:
        for key_id, at in sorted(uses.items()):
            self._run("touch_key", id=key_id, at=to_micros(at))


def _slice(owner: OwnerFilter) -> dict[str, str | None]:
    return {
        "user_id": None if owner.any_user else owner.user or "",
        "agent_id": None if owner.any_agent else owner.agent or "",
    }


_SORT_KEYS: dict[Order, Callable[[Memory], tuple[Any, ...]]] = {
    Order.NEWEST: lambda memory: (memory.created_at, memory.id),
    Order.IMPORTANCE: lambda memory: (memory.importance, memory.created_at, memory.id),
}
