-- Statements that PostgreSQL says in its own way. sqlite/ defines the same names.

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

-- name: add_accesses
-- Count reads of memories, and say how often each was read; not an edit, so updated_at stays.
-- Locked in their order first, so that two who need the same wait for each other in one direction: the update takes
-- them in whichever order its plan finds them.
WITH held AS MATERIALIZED (
    SELECT id AS held_id FROM memories WHERE tenant_id = :tenant AND id = ANY (CAST(:ids AS text[]))
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE memories SET
    access_count = access_count + CAST(read.value ->> 1 AS bigint),
    last_accessed_at = greatest(last_accessed_at, CAST(read.value ->> 2 AS bigint))
FROM held, jsonb_array_elements(CAST(:accesses AS jsonb)) AS read
WHERE tenant_id = :tenant AND id = held_id AND held_id = read.value ->> 0
RETURNING id, access_count

-- name: list_events
-- The history of some memories, oldest first.
SELECT memory_id, event_type, source, created_at, actor, payload, seq FROM memory_events
WHERE tenant_id = :tenant AND memory_id = ANY (CAST(:ids AS text[])) ORDER BY seq

-- name: unindex
-- Put some rows of a user back among those that wait for vectors.
UPDATE memory_index SET change = :change, model = '', vectors = NULL, claimed_until = 0
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id = ANY (CAST(:ids AS text[]))

-- name: claim_waiting
-- Take some of the rows that wait for vectors, so that nobody else embeds them meanwhile, or keep them for longer.
-- Picked once and for all: a subquery that locks may run again for each row, and then picks others.
WITH picked AS MATERIALIZED (
    SELECT i.user_id, i.memory_id
    FROM jsonb_array_elements(CAST(:rows AS jsonb)) AS asked
    JOIN memory_index AS i ON i.user_id = asked.value ->> 0 AND i.memory_id = asked.value ->> 1
    WHERE i.tenant_id = :tenant AND i.model = ''
        AND (i.claimed_until <= :now OR i.claimed_until = CAST(:held AS bigint))
    ORDER BY i.memory_id FOR UPDATE OF i SKIP LOCKED
)
UPDATE memory_index AS i SET claimed_until = :until FROM picked
WHERE i.tenant_id = :tenant AND i.user_id = picked.user_id AND i.memory_id = picked.memory_id
RETURNING i.memory_id

-- name: pick_of_models
-- Rows with vectors of some models that nobody has taken, by user and id after one of them: without waiting for who holds one.
SELECT user_id, memory_id FROM memory_index
WHERE tenant_id = :tenant AND (user_id, memory_id) > (:user_id, :after_id) AND model {among_ids} AND claimed_until <= :now
ORDER BY user_id, memory_id LIMIT :limit FOR UPDATE SKIP LOCKED

-- name: release_claims
-- Give back what was taken to embed, until a moment or whenever, of whatever length or up to one.
-- What somebody holds is being given its vectors: who waited for it here might hold what that one needs next.
WITH picked AS MATERIALIZED (
    SELECT i.user_id, i.memory_id FROM memory_index AS i
    WHERE i.tenant_id = :tenant AND i.model = '' AND i.claimed_until > 0
        AND (CAST(:until AS bigint) IS NULL OR i.claimed_until = :until)
        AND (
            CAST(:longest AS bigint) IS NULL
            OR EXISTS (
                SELECT 1 FROM memories AS m
                WHERE m.tenant_id = :tenant AND m.id = i.memory_id AND octet_length(m.content) <= :longest
            )
        )
    ORDER BY i.memory_id FOR UPDATE OF i SKIP LOCKED
)
UPDATE memory_index AS i SET claimed_until = 0 FROM picked
WHERE i.tenant_id = :tenant AND i.user_id = picked.user_id AND i.memory_id = picked.memory_id
