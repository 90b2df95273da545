-- What keeps facts true: the chains of those that replaced each other, and the pairs that somebody is to decide.

-- name: list_superseded
-- What some facts took the place of.
SELECT {memory_columns} FROM memories WHERE tenant_id = :tenant AND superseded_by = :id

-- name: list_retired
-- plan: anew
-- A page of the facts of a slice that another took the place of, the last changed first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND status = 'archived' AND superseded_by IS NOT NULL AND anonymized_at IS NULL
    AND (updated_at, id) < (:before_time, :before_id)
    AND (expires_at IS NULL OR expires_at > :now)
    AND (CAST(:user_id AS text) IS NULL OR user_id = :user_id)
    AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id) {readable}
ORDER BY updated_at DESC, id DESC LIMIT :limit

-- fragment: doubt_columns
id, user_id, agent_id, fact_id, other_id, reason, judge, status, created_at, updated_at

-- fragment: both_readable
    AND (:entries = 1 OR (
        NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.tenant_id = :tenant AND m.id = d.fact_id
            AND m.governed_by = 'companion')
        AND NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.tenant_id = :tenant AND m.id = d.other_id
            AND m.governed_by = 'companion')
    ))

-- name: insert_doubt
-- Link two facts, unless they are linked already.
INSERT INTO doubts (tenant_id, {doubt_columns})
VALUES (
    :tenant, :id, :user_id, :agent_id, :fact_id, :other_id, :reason, :judge, :status, :created_at, :updated_at
)
ON CONFLICT DO NOTHING

-- name: get_doubt
-- One link.
SELECT {doubt_columns} FROM doubts WHERE tenant_id = :tenant AND id = :id

-- name: find_doubt
-- The link of two facts.
SELECT {doubt_columns} FROM doubts WHERE tenant_id = :tenant AND fact_id = :fact_id AND other_id = :other_id

-- name: list_doubts
-- A page of the links of a slice of owners, newest first; open ones as far as both facts still hold.
SELECT {doubt_columns} FROM doubts AS d
WHERE tenant_id = :tenant AND status = :status AND id < :before_id
    AND (CAST(:user_id AS text) IS NULL OR user_id = :user_id)
    AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
    {both_readable}
    -- One by one: for a list of ids, SQLite would rather read all active memories.
    AND (:status <> 'open' OR (
        EXISTS (SELECT 1 FROM memories AS m WHERE m.tenant_id = :tenant AND m.id = d.fact_id AND m.status = 'active'
            AND (m.expires_at IS NULL OR m.expires_at > :now))
        AND EXISTS (SELECT 1 FROM memories AS m WHERE m.tenant_id = :tenant AND m.id = d.other_id AND m.status = 'active'
            AND (m.expires_at IS NULL OR m.expires_at > :now))
    ))
ORDER BY id DESC LIMIT :limit

-- name: settle_doubt
-- Note what was decided about a link that was open, or that a decision is taken back.
UPDATE doubts SET status = :status, updated_at = :now WHERE tenant_id = :tenant AND id = :id AND status = :expected

-- name: remove_doubt
-- Take away a link that nobody has touched since it was made.
DELETE FROM doubts WHERE tenant_id = :tenant AND id = :id AND status = 'open' AND updated_at = created_at
