-- What each memory was recalled for: the newest few times.

-- name: insert_recall
-- insert: together
-- One recall of a memory.
INSERT INTO recalls (tenant_id, memory_id, at, id, user_id, agent_id, source, query, place, score)
VALUES (:tenant, :memory_id, :at, :id, :user_id, :agent_id, :source, :query, :place, :score)
ON CONFLICT DO NOTHING

-- name: overfull_recalls
-- Which of some memories have more recalls than are kept.
SELECT memory_id FROM recalls WHERE tenant_id = :tenant AND memory_id {among_ids}
GROUP BY memory_id HAVING count(*) > :keep

-- name: trim_recalls
-- Keep so many recalls of a memory, the newest.
DELETE FROM recalls WHERE tenant_id = :tenant AND memory_id = :memory_id AND id NOT IN (
    SELECT r.id FROM recalls AS r WHERE r.tenant_id = :tenant AND r.memory_id = :memory_id
    ORDER BY r.at DESC, r.id DESC LIMIT :keep
)

-- name: list_recalls
-- The recalls of a memory, newest first.
SELECT memory_id, at, id, user_id, agent_id, source, query, place, score FROM recalls
WHERE tenant_id = :tenant AND memory_id = :memory_id ORDER BY at DESC, id DESC LIMIT :limit

-- fragment: recalled_back
    AND at >= :since AND (at, id) < (:at, :id)
ORDER BY at DESC, id DESC LIMIT :limit

-- name: list_recalled_of_tenant
-- plan: anew
-- What was recalled in a tenant before a moment and since another, newest first, by any agent or by one.
SELECT memory_id, at, id, user_id, agent_id, source, query, place, score FROM recalls
WHERE tenant_id = :tenant
    {any_agent}
    {recalled_back}

-- name: list_recalled_of_user
-- plan: anew
-- What was recalled for a user, likewise.
SELECT memory_id, at, id, user_id, agent_id, source, query, place, score FROM recalls
WHERE tenant_id = :tenant AND user_id = :user_id
    {any_agent}
    {recalled_back}

-- fragment: asked_lately
    -- Those of the newest memories, so that a long history costs no more than a short one.
    SELECT memory_id, at, id, user_id, agent_id, source, query, place, score FROM recalls
    WHERE tenant_id = :tenant AND (CAST(:user_id AS text) IS NULL OR user_id = :user_id)
        AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
    ORDER BY memory_id DESC, at DESC, id DESC LIMIT :most

-- name: list_asked
-- What a slice of users and agents asked last: of each answer the first memory of those that are still there.
SELECT memory_id, at, id, user_id, agent_id, source, query, place, score FROM (
    SELECT r.*, row_number() OVER (PARTITION BY r.id ORDER BY r.place, r.memory_id) AS number FROM (
        {asked_lately}
    ) AS r
) AS found
WHERE number = 1 ORDER BY at DESC, id DESC LIMIT :limit

-- name: count_asked
-- How often a slice of users and agents asked on each day since a moment, and how many memories came back.
SELECT at / CAST(86400000000 AS bigint), agent_id, count(DISTINCT id), count(*) FROM (
    {asked_lately}
) AS r
WHERE at >= :since GROUP BY at / CAST(86400000000 AS bigint), agent_id

-- name: list_purges
-- Whose erasure or reset was asked for since a moment, as salted hashes.
SELECT salt, subject, started_at FROM receipts
WHERE tenant_id = :tenant AND kind IN ('user', 'reset') AND started_at >= :since

-- name: purge_recalls_of_owner
-- Remove what a slice of users and agents asked.
DELETE FROM recalls WHERE tenant_id = :tenant AND {of_slice}
