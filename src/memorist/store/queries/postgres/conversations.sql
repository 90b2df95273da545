-- What conversations need of PostgreSQL: the end of each session. sqlite/ defines the same names.

-- name: latest_sessions_of_user
-- plan: anew
-- A user's sessions by when the last was said in each, the latest first: what was learned there later does not count. An
-- index has the sessions, and the end of each.
WITH found AS MATERIALIZED (
    SELECT user_id, session_id, (
        SELECT id FROM memories AS said
        WHERE said.tenant_id = :tenant AND said.user_id = sessions.user_id AND said.session_id = sessions.session_id
            AND said.session_id <> '' AND said.kind IN ('chat_message', 'tool_output')
        ORDER BY id DESC LIMIT 1
    ) AS last_id
    FROM (
        SELECT DISTINCT user_id, session_id FROM memories
        WHERE tenant_id = :tenant AND user_id = :user_id AND session_id <> ''
    ) AS sessions
)
SELECT found.user_id, found.session_id, found.last_id, coalesce(last.event_time, last.created_at) FROM found
JOIN memories AS last ON last.tenant_id = :tenant AND last.id = found.last_id
WHERE coalesce(last.event_time, last.created_at) < :said_at
    OR (coalesce(last.event_time, last.created_at) = :said_at AND found.last_id < :before)
ORDER BY coalesce(last.event_time, last.created_at) DESC, found.last_id DESC LIMIT :limit
