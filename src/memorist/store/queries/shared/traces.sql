-- What is looked back at: what redaction took out, and what a turn heard and left behind.

-- name: list_redactions
-- What redaction took out of memories before an event, newest first, each with the owner of its memory.
SELECT e.seq, e.memory_id, e.source, e.actor, e.payload, e.created_at, m.user_id, m.agent_id,
    m.anonymized_at
FROM memory_events AS e JOIN memories AS m ON m.tenant_id = e.tenant_id AND m.id = e.memory_id
WHERE e.tenant_id = :tenant AND e.event_type = 'redacted' AND e.seq < :before
ORDER BY e.seq DESC LIMIT :limit

-- name: list_learned
-- The memories that name a source, in the order in which they were written.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND source_ref = :source_ref AND kind = 'fact'
ORDER BY created_at, id LIMIT :limit

-- name: list_last_said
-- The last messages of a session, also those that were deleted and may be restored, the latest first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND session_id = :session_id AND session_id <> ''
    AND agent_id = :agent_id AND kind = 'chat_message' AND status IN ('active', 'archived', 'soft_deleted')
ORDER BY id DESC LIMIT :limit

-- name: list_said
-- Messages of a session that were stored between two moments, in their order.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND session_id = :session_id AND session_id <> ''
    AND agent_id = :agent_id AND kind = 'chat_message' AND status IN ('active', 'archived')
    AND created_at >= :since AND created_at <= :until
ORDER BY id LIMIT :limit
