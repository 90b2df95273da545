-- Statements that SQLite says in its own way. postgres/ defines the same names.

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

-- name: count_accesses
-- How often each of some memories was read.
SELECT id, access_count FROM memories WHERE tenant_id = :tenant AND id IN (SELECT value FROM json_each(:ids))

-- name: list_events
-- The history of some memories, oldest first.
SELECT memory_id, event_type, source, created_at, actor, payload, seq FROM memory_events
WHERE tenant_id = :tenant AND memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY seq

-- fragment: next_change
(
    -- Not below the time in microseconds, so that the numbers of erased rows do not come again.
    SELECT max(coalesce(max(change), 0) + 1, CAST(unixepoch('subsec') * 1000000 AS INTEGER))
    FROM memory_index WHERE tenant_id = :tenant AND user_id = :user_id
)

-- name: unindex
-- Put rows with vectors of another model back among those that wait.
UPDATE memory_index SET change = (
    SELECT max(i.change) + 1 FROM memory_index AS i WHERE i.tenant_id = :tenant AND i.user_id = memory_index.user_id
), model = '', vectors = NULL, claimed_until = 0
WHERE tenant_id = :tenant AND (user_id, memory_id) IN (
    SELECT user_id, memory_id FROM memory_index WHERE tenant_id = :tenant AND model NOT IN ('', :model) LIMIT :limit
)

-- name: claim_waiting
-- Take the newest of the rows that wait for vectors, so that nobody else embeds them meanwhile.
UPDATE memory_index SET claimed_until = :until
WHERE tenant_id = :tenant AND (user_id, memory_id) IN (
    SELECT user_id, memory_id FROM memory_index
    WHERE tenant_id = :tenant AND model = '' AND claimed_until <= :now
    ORDER BY claimed_until, memory_id DESC LIMIT :limit
)
RETURNING memory_id

-- fragment: watermark
SELECT coalesce(max(change), 0) AS watermark FROM memory_index WHERE tenant_id = :tenant AND user_id = :user_id

-- name: index_watermark
-- From which change on rows may come that this view does not see yet.
{watermark}
