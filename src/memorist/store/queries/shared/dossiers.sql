-- One memory looked at closely: what stands around it, and what happened to it last.

-- name: list_said_before
-- What was said and returned in a session before a memory, the nearest first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND session_id = :session_id AND session_id <> '' AND id < :id
    AND agent_id = :agent_id AND kind IN ('chat_message', 'tool_output') AND status IN ('active', 'archived')
ORDER BY id DESC LIMIT :limit

-- name: list_said_after
-- What was said and returned in a session after a memory, the nearest first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND session_id = :session_id AND session_id <> '' AND id > :id
    AND agent_id = :agent_id AND kind IN ('chat_message', 'tool_output') AND status IN ('active', 'archived')
ORDER BY id LIMIT :limit

-- name: list_chunks_before
-- The chunks of a document before another one, the nearest first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND source_ref = :document_id AND id < :id
    AND kind = 'document_chunk' AND status IN ('active', 'archived')
ORDER BY id DESC LIMIT :limit

-- name: list_chunks_after
-- The chunks of a document after another one, the nearest first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND source_ref = :document_id AND id > :id
    AND kind = 'document_chunk' AND status IN ('active', 'archived')
ORDER BY id LIMIT :limit

-- name: list_latest_events
-- The last events of a memory, newest first.
SELECT memory_id, event_type, source, created_at, actor, payload, seq FROM memory_events
WHERE tenant_id = :tenant AND memory_id = :memory_id ORDER BY seq DESC LIMIT :limit
