-- Statements that PostgreSQL says in its own way. sqlite.sql defines the same names.

-- name: create_migrations_table
-- scope: global
-- The list of what has been applied.
CREATE TABLE IF NOT EXISTS schema_migrations (
    version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at bigint NOT NULL
)

-- name: has_migrations_table
-- scope: global
-- Whether anything was ever applied.
SELECT count(*) FROM (SELECT to_regclass('schema_migrations') AS found) AS looked WHERE found IS NOT NULL

-- name: get_memories
-- Several memories by id.
SELECT {memory_columns} FROM memories WHERE tenant_id = :tenant AND id = ANY (CAST(:ids AS text[]))

-- name: list_events
-- The audit trail of some memories, oldest first.
SELECT memory_id, event_type, source, created_at, actor, payload, seq FROM memory_events
WHERE tenant_id = :tenant AND memory_id = ANY (CAST(:ids AS text[])) ORDER BY seq

-- name: erase_events
-- Remove the audit trail of some memories.
DELETE FROM memory_events WHERE tenant_id = :tenant AND memory_id = ANY (CAST(:ids AS text[]))

-- name: erase_memories
-- Remove some memories; their text entries are columns of the row.
DELETE FROM memories WHERE tenant_id = :tenant AND id = ANY (CAST(:ids AS text[]))

-- name: count_text_entries
-- How many of a tenant's rows are in the text index.
SELECT count(*) FROM memories WHERE tenant_id = :tenant AND text_index IS NOT NULL
