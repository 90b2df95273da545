-- What conversations need of SQLite: the end of each session. postgres/ defines the same names.

-- name: latest_sessions_of_user
-- plan: anew
-- A user's sessions by when the last was said in each, the latest first: what was learned there later does not count. An
-- index has the sessions, and the end of each, whose row is read at once by its number: later it would be read anew.
SELECT last.user_id, last.session_id, last.id, coalesce(last.event_time, last.created_at)
FROM (
    SELECT DISTINCT user_id, session_id FROM memories
    WHERE tenant_id = :tenant AND user_id = :user_id AND session_id <> ''
) AS sessions
CROSS JOIN memories AS last ON last.tenant_id = :tenant AND last.row_number = (
    SELECT row_number FROM memories AS said
    WHERE said.tenant_id = :tenant AND said.user_id = sessions.user_id AND said.session_id = sessions.session_id
        AND said.session_id <> '' AND said.kind IN ('chat_message', 'tool_output')
    ORDER BY id DESC LIMIT 1
)
WHERE coalesce(last.event_time, last.created_at) < :said_at
    OR (coalesce(last.event_time, last.created_at) = :said_at AND last.id < :before)
ORDER BY coalesce(last.event_time, last.created_at) DESC, last.id DESC LIMIT :limit
