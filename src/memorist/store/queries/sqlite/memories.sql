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

-- name: add_accesses
-- Count reads of memories, and say how often each was read; not an edit, so updated_at stays.
-- The limit that is none has each looked up by its id, not all of the tenant's memories looked through for them.
UPDATE memories SET
    access_count = access_count + (read.value ->> 1),
    last_accessed_at = max(coalesce(last_accessed_at, 0), read.value ->> 2)
FROM (SELECT value FROM json_each(:accesses) LIMIT -1) AS read
WHERE tenant_id = :tenant AND memories.id = read.value ->> 0
RETURNING memories.id, access_count

-- name: list_events
-- The history of some memories, oldest first.
SELECT memory_id, event_type, source, created_at, actor, payload, seq FROM memory_events
WHERE tenant_id = :tenant AND memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY seq

-- name: unindex
-- Put some rows of a user back among those that wait for vectors.
UPDATE memory_index SET change = :change, model = '', vectors = NULL, claimed_until = 0
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id IN (SELECT value FROM json_each(:ids))

-- name: claim_waiting
-- Take some of the rows that wait for vectors, so that nobody else embeds them meanwhile, or keep them for longer.
UPDATE memory_index SET claimed_until = :until
WHERE tenant_id = :tenant AND (user_id, memory_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:rows))
    AND model = '' AND (claimed_until <= :now OR claimed_until = CAST(:held AS bigint))
RETURNING memory_id

-- name: pick_of_models
-- Rows with vectors of some models that nobody has taken, by user and id after one of them.
SELECT user_id, memory_id FROM memory_index
WHERE tenant_id = :tenant AND (user_id, memory_id) > (:user_id, :after_id) AND model {among_ids} AND claimed_until <= :now
ORDER BY user_id, memory_id LIMIT :limit

-- name: release_claims
-- Give back what was taken to embed, until a moment or whenever, of whatever length or up to one.
UPDATE memory_index SET claimed_until = 0
WHERE tenant_id = :tenant AND model = '' AND claimed_until > 0
    AND (CAST(:until AS bigint) IS NULL OR claimed_until = :until)
    AND (
        CAST(:longest AS bigint) IS NULL
        OR EXISTS (
            SELECT 1 FROM memories AS m
            WHERE m.tenant_id = :tenant AND m.id = memory_index.memory_id AND octet_length(m.content) <= :longest
        )
    )
