-- Conversations: the sessions of users, and what was said and returned in one.

-- name: latest_sessions_of_tenant
-- plan: anew
-- Everybody's sessions by the last memory of each, the latest first: when that was said would be looked up for all.
SELECT user_id, session_id, max(id) FROM memories
WHERE tenant_id = :tenant AND session_id <> ''
GROUP BY user_id, session_id HAVING max(id) < :before ORDER BY max(id) DESC LIMIT :limit

-- name: newest_sessions_of_tenant
-- plan: anew
-- Everybody's sessions whose last memory is among the newest before one, the latest first.
SELECT user_id, session_id, max(id) FROM (
    SELECT user_id, session_id, id FROM memories
    WHERE tenant_id = :tenant AND id < :before ORDER BY id DESC LIMIT :most
) AS newest
WHERE session_id <> '' AND NOT EXISTS (
    SELECT 1 FROM memories AS later
    WHERE later.tenant_id = :tenant AND later.user_id = newest.user_id AND later.session_id = newest.session_id
        AND later.session_id <> '' AND later.id >= :before
)
GROUP BY user_id, session_id ORDER BY max(id) DESC LIMIT :limit

-- fragment: of_conversation
FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND session_id = :session_id AND session_id <> ''
    AND kind IN ('chat_message', 'tool_output')

-- name: conversation_after
-- plan: anew
-- What was said and returned in a session after a memory, and may have a text, in its order.
SELECT {memory_columns} {of_conversation} AND id > :id AND status IN ('active', 'archived')
    {browse_filters}
ORDER BY id LIMIT :limit

-- name: conversation_before
-- plan: anew
-- What was said and returned in a session before a memory, and may have a text, the nearest first.
SELECT {memory_columns} {of_conversation} AND id < :id AND status IN ('active', 'archived')
    {browse_filters}
ORDER BY id DESC LIMIT :limit

-- name: count_conversation
-- plan: anew
-- How much was said and returned in a session, up to a bound.
SELECT count(*) FROM (
    SELECT 1 {of_conversation} AND status IN ('active', 'archived')
        AND {unexpired} AND anonymized_at IS NULL {readable}
        {any_agent}
    LIMIT :most
) AS found

-- name: conversation_ids
-- plan: anew
-- The ids of what was said and returned in a session, whatever its state.
SELECT id {of_conversation} AND id > :id
    {any_agent}
    {readable}
ORDER BY id LIMIT :limit

-- name: turns_of_session
-- The turns of a user's session, the latest first. Written so that the index of sessions is read, and no longer one in order.
SELECT id FROM turns
WHERE tenant_id = :tenant AND session_id = :session_id AND user_id || '' = :user_id
ORDER BY id || '' DESC LIMIT :limit
