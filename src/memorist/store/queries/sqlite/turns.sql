-- What erasure says about turns, and which messages are stored. postgres/ defines the same names.

-- name: purge_turn_events_of_memories
-- Remove the events of turns in whose session some memories were said, or which they come from: these may quote them.
-- What tools returned is in no event.
DELETE FROM turn_events WHERE tenant_id = :tenant AND turn_id IN (
    SELECT t.id FROM turns AS t JOIN memories AS m
        ON m.tenant_id = t.tenant_id AND m.user_id = t.user_id AND m.session_id = t.session_id
    WHERE t.tenant_id = :tenant AND m.session_id <> '' AND m.kind <> 'tool_output' AND m.id IN (SELECT value FROM json_each(:ids))
    UNION
    SELECT source_ref FROM memories WHERE tenant_id = :tenant AND source_ref LIKE 'turn!_%' ESCAPE '!' AND id IN (SELECT value FROM json_each(:ids))
)

-- name: purge_turns_of_memories
-- Remove those turns, unless they are still running.
DELETE FROM turns WHERE tenant_id = :tenant AND status <> 'running' AND id IN (
    SELECT t.id FROM turns AS t JOIN memories AS m
        ON m.tenant_id = t.tenant_id AND m.user_id = t.user_id AND m.session_id = t.session_id
    WHERE t.tenant_id = :tenant AND m.session_id <> '' AND m.kind <> 'tool_output' AND m.id IN (SELECT value FROM json_each(:ids))
    UNION
    SELECT source_ref FROM memories WHERE tenant_id = :tenant AND source_ref LIKE 'turn!_%' ESCAPE '!' AND id IN (SELECT value FROM json_each(:ids))
)

-- name: count_said
-- How many messages of an owner say each of some texts, in whichever session and whatever became of them.
SELECT content_hash, count(*) FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND kind = 'chat_message'
    AND content_hash IN (SELECT value FROM json_each(:hashes))
GROUP BY content_hash
