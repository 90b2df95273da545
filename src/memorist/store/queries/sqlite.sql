-- Statements that SQLite says in its own way. postgres.sql defines the same names.

-- name: create_migrations_table
-- scope: global
-- The list of what has been applied.
CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL
) STRICT

-- name: has_migrations_table
-- scope: global
-- Whether anything was ever applied.
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'

-- name: get_memories
-- Several memories by id.
SELECT {memory_columns} FROM memories WHERE tenant_id = :tenant AND id IN (SELECT value FROM json_each(:ids))

-- name: list_events
-- The audit trail of some memories, oldest first.
SELECT memory_id, event_type, source, created_at, actor, payload, seq FROM memory_events
WHERE tenant_id = :tenant AND memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY seq

-- name: erase_events
-- Remove the audit trail of some memories.
DELETE FROM memory_events WHERE tenant_id = :tenant AND memory_id IN (SELECT value FROM json_each(:ids))

-- name: erase_memories
-- Remove some memories; their text entries go by trigger.
DELETE FROM memories WHERE tenant_id = :tenant AND id IN (SELECT value FROM json_each(:ids))

-- name: count_text_entries
-- How many of a tenant's rows are in the text index.
SELECT count(*) FROM memories_text_docsize AS d JOIN memories AS m ON m.row_number = d.id WHERE m.tenant_id = :tenant
