"""Every table of the database: what it can hold of a person, and how that is erased.

A column that can hold a text is either among a table's `texts` (what somebody wrote, or a name) or among its `codes`
(ids, hashes and words of our own). A test compares this with the migrated databases, and fails where a table or column
is missing here; others see to it that what is named here is in fact erased, counted and found.
"""

from dataclasses import dataclass

from memorist.memories.fields import FIELDS
from memorist.platform.values import Seal


@dataclass(frozen=True, slots=True)
class Table:
    """The statements remove what belongs to some memories, to a slice of owners, and to the whole tenant."""

    name: str
    texts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    of_memories: str | None = None
    of_owner: str | None = None
    of_tenant: str | None = None
    kept: str = ""
    """Why nothing is erased from it."""
    sealed: tuple[str, ...] = ()
    """Columns that are encrypted where the tenant is."""
    matched: tuple[str, ...] = ()
    """Columns that are encrypted there so that equal values stay equal."""
    row: tuple[str, ...] = ("id",)
    """What tells a row from the others of its tenant."""

    def seal_of(self, column: str) -> Seal | None:
        return Seal.TEXT if column in self.sealed else Seal.EQUAL if column in self.matched else None


# In the order in which they are emptied: what says whose a row is goes last.
TABLES = (
    Table(
        "memory_events",
        texts=("source", "actor", "payload"),
        codes=("tenant_id", "memory_id", "event_type"),
        of_memories="erase_events",
        of_tenant="purge_events",
        sealed=("payload",),
        row=("seq",),
    ),
    Table(
        "tool_outputs",
        texts=("content",),
        codes=("tenant_id", "memory_id"),
        of_memories="erase_tool_outputs",
        of_tenant="purge_tool_outputs",
        sealed=("content",),
        row=("memory_id",),
    ),
    Table(
        "memory_index",
        texts=("user_id", "agent_id", "thread", "category", "project", "terms", "vectors"),
        codes=("tenant_id", "memory_id", "kind", "model"),
        of_memories="erase_index",
        of_tenant="purge_index",
        sealed=("terms", "vectors"),
        matched=("digest",),
        row=("user_id", "memory_id"),
    ),
    # After the index: see the statement.
    Table(
        "memory_tokens",
        texts=("tokens",),
        codes=("tenant_id", "memory_id", "model"),
        of_memories="erase_tokens",
        of_tenant="purge_tokens",
        sealed=("tokens",),
        row=("memory_id",),
    ),
    Table("index_changes", codes=("tenant_id",), of_tenant="purge_index_changes"),
    Table(
        "doubts",
        texts=("user_id", "agent_id", "reason"),
        codes=("tenant_id", "id", "fact_id", "other_id", "judge", "status"),
        of_memories="purge_doubts_of_memories",
        of_owner="purge_doubts_of_owner",
        sealed=("reason",),
    ),
    Table(
        "jobs",
        texts=("key", "user_id", "agent_id", "acting", "payload", "error", "result"),
        codes=("tenant_id", "id", "kind", "status"),
        of_memories="purge_jobs_of_memories",
        of_owner="erase_jobs",
        sealed=("payload", "error", "result"),
    ),
    Table(
        "turn_events",
        texts=("data",),
        codes=("tenant_id", "turn_id", "event"),
        of_memories="purge_turn_events_of_memories",
        of_owner="purge_turn_events_of_owner",
        sealed=("data",),
        row=("turn_id", "seq"),
    ),
    Table(
        "turns",
        texts=("user_id", "agent_id", "session_id", "request", "answer", "error"),
        codes=("tenant_id", "id", "status", "runner"),
        of_memories="purge_turns_of_memories",
        of_owner="purge_turns_of_owner",
        sealed=("request", "answer", "error"),
    ),
    Table(
        "idempotency_keys",
        texts=("route", "key", "user_id", "response"),
        codes=("tenant_id", "principal", "request_hash"),
        of_memories="purge_idempotency_of_memories",
        of_owner="erase_idempotency",
        sealed=("response",),
        row=("principal", "route", "key"),
    ),
    # Its report names a few memories, and so does how far it is.
    Table(
        "sweeps",
        codes=("tenant_id", "recomputed_after", "report"),
        of_memories="purge_sweeps_of_memories",
        of_tenant="purge_sweeps",
    ),
    Table("policies", ("source", "actor"), ("tenant_id", "rules"), of_tenant="purge_policies"),
    # Sums for a tenant and month, which say nothing of anybody: erasing a user must not give the budget back.
    Table("spending", codes=("tenant_id",), of_tenant="purge_spending"),
    Table(
        "documents",
        texts=("user_id", "agent_id", "id", "title", "media_type", "content"),
        codes=("tenant_id",),
        of_owner="erase_documents",
        sealed=("content",),
        matched=("title",),
        row=("user_id", "agent_id", "id"),
    ),
    Table(
        "memories",
        texts=tuple(field.column for field in FIELDS if field.is_text and field.personal),
        codes=tuple(field.column for field in FIELDS if field.is_text and not field.personal),
        of_memories="erase_memories",
        sealed=tuple(field.column for field in FIELDS if field.seal is Seal.TEXT),
        matched=tuple(field.column for field in FIELDS if field.seal is Seal.EQUAL),
    ),
    # After the memories: whoever writes one locks its memory, so that none appears once those are gone.
    Table(
        "recalls",
        texts=("user_id", "agent_id", "source", "query"),
        codes=("tenant_id", "memory_id", "id"),
        of_memories="erase_recalls",
        of_owner="purge_recalls_of_owner",
        sealed=("query",),
        row=("memory_id", "at", "id"),
    ),
    Table(
        "api_keys",
        texts=("user_id", "agent_id", "label"),
        codes=("id", "tenant_id", "secret_hash", "role"),
        of_tenant="purge_keys",
    ),
    Table(
        "sign_ins",
        texts=("user_id", "agent_id"),
        codes=("token_hash", "tenant_id", "kind", "key_id", "role"),
        of_owner="purge_tokens_of_owner",
        of_tenant="purge_sign_ins",
    ),
    # Last: with them nothing that is left anywhere can be read.
    Table("tenant_keys", codes=("tenant_id", "wrapped", "master"), of_tenant="purge_tenant_keys"),
    Table(
        "receipts",
        codes=(
            "tenant_id", "id", "kind", "status", "request", "asked_by", "salt", "subject", "counts", "verification",
            "remains",
        ),
        kept="The proof of what was erased. `request` is emptied before an erasure is done.",
    ),
    Table(
        "erasures",
        codes=("tenant_id", "kind", "id", "salt", "receipt_id"),
        kept="The ledger: ids and salted hashes of what is gone.",
    ),
    Table(
        "audit_log",
        codes=(
            "tenant_id", "kind", "door", "route", "outcome", "key_id", "role", "user_hash", "agent_hash", "ids", "hash",
        ),
        kept="Who did what, as routes, ids of keys and salted hashes of names; gone when its time is over.",
    ),
    Table("audit_waiting", codes=("tenant_id", "id", "act"), kept="The same, for a moment."),
    Table("audit_heads", codes=("tenant_id", "hash", "anchor", "salt"), kept="Where the chain of that ends."),
    Table("tenants", codes=("id", "index_model"), kept="A tenant's name, under which its receipts are found."),
    Table("schema_migrations", codes=("name", "checksum"), kept="Words of our own."),
)  # fmt: skip

SEALED = {table.name: table for table in TABLES if table.sealed}

# Statements that are not a table's own, but look through all of them.
SEARCHES = ("count_named", "count_of_user", "count_all_of_user", "count_history_of_user", "list_users", "find_text")
