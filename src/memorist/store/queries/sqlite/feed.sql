-- What the feed of changes and the search of coding assistants need of SQLite. postgres/ defines the same names.

-- name: append_event
-- One line of a memory's history.
INSERT INTO memory_events (tenant_id, memory_id, event_type, source, actor, payload, created_at)
VALUES (:tenant, :memory_id, :event_type, :source, :actor, :payload, :created_at)

-- name: feed_bounds
-- scope: global
-- Below the first number every event is committed and seen; from the second on there are none yet.
SELECT 1, 1

-- fragment: after_position
e.change = 0 AND e.seq > :seq AND :change >= 0

-- fragment: before_position
e.change = 0 AND e.seq < :seq AND :change >= 0

-- fragment: chunk_filters
    AND status = 'active' AND category IN ('decision', 'fact', 'solution', 'pattern', 'preference', 'summary')
    AND (created_at, id) < (:after_time, :after_id)
    AND (expires_at IS NULL OR expires_at > :now)
    AND (:agent_id IS NULL OR agent_id = :agent_id)
    AND (:category IS NULL OR category = :category)
    AND (:projects IS NULL OR instr(:projects, char(10) || project || char(10)) > 0)
    AND coalesce(relevance, 1.0) >= :min_relevance {readable}
    -- A text with more bytes than letters is not of ASCII alone, and compared by us.
    AND (
        :pattern = '%'
        OR content LIKE :pattern ESCAPE '!' OR octet_length(content) > length(content)
        OR excerpt LIKE :pattern ESCAPE '!' OR octet_length(excerpt) > length(excerpt)
    )

-- name: find_chunks_of_user
-- Candidates of a search among a user's chunks, newest first; the index is named, or it would walk all memories.
SELECT created_at, id, content, excerpt FROM memories INDEXED BY memories_chunks
WHERE tenant_id = :tenant AND user_id = :user_id
    {chunk_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: find_chunks_of_tenant
-- Candidates of a search among a tenant's chunks, newest first.
SELECT created_at, id, content, excerpt FROM memories
WHERE tenant_id = :tenant
    {chunk_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit
