-- Deadlines and the sweeper, where PostgreSQL says it in its own way. sqlite/ defines the same names.

-- name: claim_due
-- plan: anew
-- Memories for which a move of the policy is due, nobody else's inside this transaction.
SELECT {memory_columns} FROM memories WHERE tenant_id = :tenant AND due_at <= :as_of {of_door}
ORDER BY due_at, id LIMIT :limit FOR UPDATE SKIP LOCKED

-- name: claim_expired
-- plan: anew
-- Active and archived memories whose TTL has passed, likewise.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND {expired}
ORDER BY expires_at, id LIMIT :limit FOR UPDATE SKIP LOCKED

-- name: claim_retired
-- plan: anew
-- Facts that were retired by then and are to be anonymized, likewise.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND status = 'archived' AND superseded_by IS NOT NULL AND anonymized_at IS NULL
    AND updated_at <= :before {anonymized_in_time}
ORDER BY updated_at, id LIMIT :limit FOR UPDATE SKIP LOCKED

-- name: last_restored
-- When some memories were restored last, those of them that ever were.
SELECT memory_id, max(created_at) FROM memory_events
WHERE tenant_id = :tenant AND event_type = 'restored' AND memory_id = ANY (CAST(:ids AS text[]))
GROUP BY memory_id

-- fragment: by_due_of_user
/* memories_due_of_user */

-- fragment: by_end_of_user
/* memories_expiring_of_user */

-- fragment: by_retiring_of_user
/* memories_retired_of_user */
