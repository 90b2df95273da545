-- What the feed of changes and the search of coding assistants need of PostgreSQL. sqlite/ defines the same names.

-- name: append_event
-- One line of a memory's history, with the transaction that wrote it.
INSERT INTO memory_events (tenant_id, memory_id, event_type, source, actor, payload, created_at, change)
VALUES (
    :tenant, :memory_id, :event_type, :source, :actor, :payload, :created_at,
    CAST(CAST(pg_current_xact_id() AS text) AS bigint)
)

-- name: feed_bounds
-- scope: global
-- Below the first number every event is committed and seen; from the second on there are none yet.
SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint),
    CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint)

-- fragment: after_position
(e.change, e.seq) > (:change, :seq)

-- fragment: before_position
(e.change, e.seq) < (:change, :seq)

-- fragment: chunk_filters
    AND status = 'active' AND category IN ('decision', 'fact', 'solution', 'pattern', 'preference', 'summary')
    AND (created_at, id) < (:after_time, :after_id)
    AND (expires_at IS NULL OR expires_at > :now)
    AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
    AND (CAST(:category AS text) IS NULL OR category = :category)
    AND (CAST(:projects AS text) IS NULL OR strpos(:projects, chr(10) || project || chr(10)) > 0)
    AND coalesce(relevance, 1.0) >= :min_relevance {readable}
    -- A text with more bytes than letters is not of ASCII alone, and compared by us. Of the others the collation C
    -- lowers all letters, whatever the language of the database.
    AND (
        CAST(:pattern AS text) = '%'
        OR lower(content COLLATE "C") LIKE :pattern ESCAPE '!' OR octet_length(content) > length(content)
        OR lower(excerpt COLLATE "C") LIKE :pattern ESCAPE '!' OR octet_length(excerpt) > length(excerpt)
    )

-- name: find_chunks_of_user
-- plan: anew
-- Candidates of a search among a user's chunks, newest first.
SELECT created_at, id, content, excerpt FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id
    {chunk_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: find_chunks_of_tenant
-- plan: anew
-- Candidates of a search among a tenant's chunks, newest first.
SELECT created_at, id, content, excerpt FROM memories
WHERE tenant_id = :tenant
    {chunk_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit
