-- What erasure says about turns. postgres/ defines the same names.

-- name: purge_turn_events_of_memories
-- Remove the events of turns in whose session some memories were said, or which they come from: these may quote them.
DELETE FROM turn_events WHERE tenant_id = :tenant AND turn_id IN (
    SELECT id FROM turns WHERE tenant_id = :tenant AND session_id IN (
        SELECT session_id FROM memories WHERE tenant_id = :tenant AND session_id <> '' AND id IN (SELECT value FROM json_each(:ids))
    )
    UNION
    SELECT source_ref FROM memories WHERE tenant_id = :tenant AND source_ref LIKE 'turn!_%' ESCAPE '!' AND id IN (SELECT value FROM json_each(:ids))
)

-- name: purge_turns_of_memories
-- Remove those turns, unless they are still running.
DELETE FROM turns WHERE tenant_id = :tenant AND status <> 'running' AND id IN (
    SELECT id FROM turns WHERE tenant_id = :tenant AND session_id IN (
        SELECT session_id FROM memories WHERE tenant_id = :tenant AND session_id <> '' AND id IN (SELECT value FROM json_each(:ids))
    )
    UNION
    SELECT source_ref FROM memories WHERE tenant_id = :tenant AND source_ref LIKE 'turn!_%' ESCAPE '!' AND id IN (SELECT value FROM json_each(:ids))
)
