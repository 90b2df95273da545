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

-- name: list_events
-- The audit trail of some memories, oldest first.
SELECT memory_id, event_type, source, created_at, actor, payload, seq FROM memory_events
WHERE tenant_id = :tenant AND memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY seq

-- fragment: next_change
(
    -- Not below the time in microseconds, so that the numbers of erased rows do not come again.
    SELECT max(coalesce(max(change), 0) + 1, CAST(unixepoch('subsec') * 1000000 AS INTEGER))
    FROM memory_index WHERE tenant_id = :tenant AND user_id = :user_id
)

-- name: insert_index
-- A new memory's row of the index.
INSERT INTO memory_index (
    tenant_id, user_id, memory_id, change, agent_id, thread, kind, category, project, standing, event_time, created_at,
    expires_at, valid_from, valid_to, retired_at, digest, model, claimed_until, terms, vectors
) VALUES (
    :tenant, :user_id, :memory_id, {next_change}, :agent_id, :thread, :kind, :category, :project, :standing, :event_time,
    :created_at, :expires_at, :valid_from, :valid_to, :retired_at, :digest, '', 0, :terms, NULL
)
ON CONFLICT DO NOTHING

-- name: replace_index
-- A changed memory's row of the index. Vectors stay where the text that they stand for did.
UPDATE memory_index SET
    change = {next_change}, agent_id = :agent_id, thread = :thread, kind = :kind, category = :category,
    project = :project, standing = :standing, event_time = :event_time, expires_at = :expires_at,
    valid_from = :valid_from, valid_to = :valid_to, retired_at = :retired_at, terms = :terms,
    model = CASE WHEN digest = :digest THEN model ELSE '' END,
    vectors = CASE WHEN digest = :digest THEN vectors END,
    claimed_until = CASE WHEN digest = :digest THEN claimed_until ELSE 0 END,
    digest = :digest
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id = :memory_id

-- name: save_vectors
-- What a model made of a text, unless the text changed meanwhile.
UPDATE memory_index SET change = {next_change}, model = :model, vectors = :vectors, terms = :terms, digest = :digest
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id = :memory_id AND digest IN (0, :digest)

-- name: unindex
-- Put rows with vectors of another model back among those that wait.
UPDATE memory_index SET change = (
    SELECT max(i.change) + 1 FROM memory_index AS i WHERE i.tenant_id = :tenant AND i.user_id = memory_index.user_id
), model = '', vectors = NULL, claimed_until = 0
WHERE tenant_id = :tenant AND (user_id, memory_id) IN (
    SELECT user_id, memory_id FROM memory_index WHERE tenant_id = :tenant AND model NOT IN ('', :model) LIMIT :limit
)

-- name: claim_waiting
-- Take some of the rows that wait for vectors, so that nobody else embeds them meanwhile.
UPDATE memory_index SET claimed_until = :until
WHERE tenant_id = :tenant AND (user_id, memory_id) IN (
    SELECT user_id, memory_id FROM memory_index
    WHERE tenant_id = :tenant AND model = '' AND claimed_until <= :now
    ORDER BY claimed_until, user_id, memory_id LIMIT :limit
)
RETURNING memory_id

-- fragment: watermark
SELECT coalesce(max(change), 0) AS watermark FROM memory_index WHERE tenant_id = :tenant AND user_id = :user_id

-- name: index_watermark
-- From which change on rows may come that this view does not see yet.
{watermark}
