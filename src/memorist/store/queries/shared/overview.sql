-- What an overview counts. Memories are counted in the order of an index that holds all that is asked
-- (memories_facets), so that none is read but for the growth by kind; whatever could be long is counted up to a bound.

-- fragment: counted
    AND (expires_at IS NULL OR expires_at > :now OR status <> 'active') AND anonymized_at IS NULL

-- name: count_kinds_of_tenant
-- How many memories of each state and kind a tenant has.
SELECT status, kind, CAST(sum(rows) AS bigint) FROM (
    -- By user first: that is how the index lies, so that nothing is sorted but these few sums.
    SELECT user_id, status, kind, count(*) AS rows FROM memories
    WHERE tenant_id = :tenant
        {any_agent}
        {counted}
    GROUP BY user_id, status, kind
) AS counts
GROUP BY status, kind

-- name: count_kinds_of_user
-- How many memories of each state and kind a user has, with any agent or with one.
SELECT status, kind, count(*) FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id
    {any_agent}
    {counted}
GROUP BY status, kind

-- name: count_facts_of_user
-- How many facts a user has now, with any agent or with one.
SELECT count(*) FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND status = 'active' AND kind = 'fact'
    {any_agent}
    {counted}

-- fragment: each_day
    {any_agent}
    AND status IN ('active', 'archived', 'soft_deleted', 'hard_delete_pending') AND anonymized_at IS NULL
GROUP BY created_at / CAST(86400000000 AS bigint), kind

-- name: count_days_of_tenant
-- plan: anew
-- How many of a tenant's memories of each kind were written on each day and are still there.
SELECT created_at / CAST(86400000000 AS bigint), kind, count(*) FROM memories WHERE tenant_id = :tenant
    {each_day}

-- name: count_days_of_user
-- plan: anew
-- How many of a user's memories of each kind, with any agent or with one, were written on each day and are still there.
SELECT created_at / CAST(86400000000 AS bigint), kind, count(*) FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id
    {each_day}

-- name: count_waiting
-- How many memories of a slice of users wait for vectors, up to a bound.
SELECT count(*) FROM (
    SELECT 1 FROM memory_index
    WHERE tenant_id = :tenant AND model = ''
        AND (CAST(:user_id AS text) IS NULL OR user_id = :user_id)
    LIMIT :most
) AS waiting

-- fragment: of_counted_slice
    AND (CAST(:user_id AS text) IS NULL OR user_id = :user_id)
    AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)

-- name: count_jobs_not_done
-- How many jobs of a slice wait or are dead, up to a bound.
SELECT status, count(*) FROM (
    SELECT status FROM jobs
    WHERE tenant_id = :tenant AND status <> 'done'
        {of_counted_slice}
    ORDER BY id DESC LIMIT :most
) AS found
GROUP BY status

-- name: count_jobs_done
-- How many jobs of a slice are done and still kept, up to a bound.
SELECT count(*) FROM (
    SELECT 1 FROM jobs
    WHERE tenant_id = :tenant AND status = 'done'
        {of_counted_slice}
    LIMIT :most
) AS found

-- name: count_open_doubts
-- How many pairs of a slice somebody is to decide, as far as both facts still hold, by the owners of the two; up to
-- a bound.
SELECT fact_user, fact_agent, other_user, other_agent, count(*) FROM (
    SELECT f.user_id AS fact_user, f.agent_id AS fact_agent, o.user_id AS other_user, o.agent_id AS other_agent
    FROM doubts AS d
    JOIN memories AS f ON f.tenant_id = :tenant AND f.id = d.fact_id AND f.status = 'active'
        AND (f.expires_at IS NULL OR f.expires_at > :now)
    JOIN memories AS o ON o.tenant_id = :tenant AND o.id = d.other_id AND o.status = 'active'
        AND (o.expires_at IS NULL OR o.expires_at > :now)
    WHERE d.tenant_id = :tenant AND d.status = 'open'
        AND (CAST(:user_id AS text) IS NULL OR d.user_id = :user_id)
        AND (CAST(:agent_id AS text) IS NULL OR d.agent_id = :agent_id)
        {both_readable}
    ORDER BY d.id DESC LIMIT :most
) AS found
GROUP BY fact_user, fact_agent, other_user, other_agent

-- name: next_owner
-- The owner after another one: the user's next agent, else the next user with the first of theirs. Two steps of an index,
-- because a comparison of pairs would walk through all rows of a user.
SELECT user_id, agent_id FROM (
    SELECT * FROM (
        SELECT 1 AS place, user_id, agent_id FROM memories
        WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id > :agent_id
        ORDER BY agent_id LIMIT 1
    ) AS agents
    UNION ALL
    SELECT * FROM (
        SELECT 2 AS place, user_id, agent_id FROM memories
        WHERE tenant_id = :tenant AND user_id > :user_id
        ORDER BY user_id, agent_id LIMIT 1
    ) AS users
) AS found
ORDER BY place LIMIT 1

-- name: count_of_owner
-- How many active memories an owner has, up to a bound, and when the last was written.
SELECT (
    SELECT count(*) FROM (
        SELECT 1 FROM memories
        WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND status = 'active' LIMIT :most
    ) AS found
), (
    SELECT max(created_at) FROM memories
    WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND status = 'active'
)

-- name: list_sessions
-- Who is signed in to a tenant's dashboard, newest first.
SELECT s.kind, s.created_at, s.expires_at, s.role, s.user_id, s.agent_id,
    k.id, k.tenant_id, k.secret_hash, k.role, k.user_id, k.agent_id, k.label, k.created_at, k.revoked_at, k.last_used_at,
    k.expires_at
FROM sign_ins AS s JOIN api_keys AS k ON k.id = s.key_id AND k.tenant_id = s.tenant_id
WHERE s.tenant_id = :tenant AND s.kind = 'session' AND s.expires_at > :now AND k.revoked_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > :now)
ORDER BY s.created_at DESC, s.token_hash LIMIT :limit

-- name: list_session_ids
-- The ids of one owner's memories of a session, whatever their state.
SELECT id FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND session_id = :session_id AND session_id <> ''
    AND agent_id = :agent_id
ORDER BY id LIMIT :limit

-- name: list_chunk_ids
-- The ids of the chunks of one owner's document, whatever their state.
SELECT id FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND source_ref = :document_id
    AND kind = 'document_chunk'
ORDER BY id LIMIT :limit

-- name: count_rows
-- How many rows a tenant has in each table that says how large it is.
SELECT 'memories', count(*) FROM memories WHERE tenant_id = :tenant
UNION ALL SELECT 'memory_events', count(*) FROM memory_events WHERE tenant_id = :tenant
UNION ALL SELECT 'memory_index', count(*) FROM memory_index WHERE tenant_id = :tenant
UNION ALL SELECT 'memory_tokens', count(*) FROM memory_tokens WHERE tenant_id = :tenant
UNION ALL SELECT 'documents', count(*) FROM documents WHERE tenant_id = :tenant
UNION ALL SELECT 'tool_outputs', count(*) FROM tool_outputs WHERE tenant_id = :tenant
UNION ALL SELECT 'doubts', count(*) FROM doubts WHERE tenant_id = :tenant
UNION ALL SELECT 'jobs', count(*) FROM jobs WHERE tenant_id = :tenant
UNION ALL SELECT 'turns', count(*) FROM turns WHERE tenant_id = :tenant
UNION ALL SELECT 'recalls', count(*) FROM recalls WHERE tenant_id = :tenant
UNION ALL SELECT 'receipts', count(*) FROM receipts WHERE tenant_id = :tenant
UNION ALL SELECT 'api_keys', count(*) FROM api_keys WHERE tenant_id = :tenant
UNION ALL SELECT 'sign_ins', count(*) FROM sign_ins WHERE tenant_id = :tenant

-- name: count_dated_after
-- How many memories and events are dated after a moment, and the last of these dates.
SELECT count(*), max(created_at) FROM (
    SELECT created_at FROM memories WHERE tenant_id = :tenant AND created_at > :moment
    UNION ALL SELECT created_at FROM memory_events WHERE tenant_id = :tenant AND created_at > :moment
) AS ahead
