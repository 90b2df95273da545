-- The feed of changes: the history of a tenant in the order of its commits. See platform/feed.py.

-- name: read_feed
-- plan: anew
-- The next events after a position, each with the owner of its memory and whether that is an entry.
SELECT e.change, e.seq, e.memory_id, e.event_type, e.created_at, CASE WHEN e.event_type = 'erased' THEN e.payload END,
    m.user_id, m.agent_id, m.anonymized_at, e.source, e.actor, NOT {no_entry}
FROM memory_events AS e LEFT JOIN memories AS m ON m.tenant_id = e.tenant_id AND m.id = e.memory_id
WHERE e.tenant_id = :tenant AND {after_position}
ORDER BY e.change, e.seq LIMIT :limit

-- name: list_last_changes
-- plan: anew
-- What was done to facts among the last events, newest first, each with the owner of its fact.
SELECT e.change, e.seq, e.memory_id, e.event_type, e.created_at, NULL,
    m.user_id, m.agent_id, m.anonymized_at, e.source, e.actor, NOT {no_entry}
FROM (
    SELECT change, seq, tenant_id, memory_id, event_type, created_at, source, actor FROM memory_events WHERE tenant_id = :tenant
    ORDER BY change DESC, seq DESC LIMIT :most
) AS e JOIN memories AS m ON m.tenant_id = e.tenant_id AND m.id = e.memory_id
WHERE m.kind = 'fact' AND m.anonymized_at IS NULL
    AND e.event_type IN ('created', 'updated', 'archived', 'superseded', 'deleted', 'restored')
ORDER BY e.change DESC, e.seq DESC

-- name: read_feed_back
-- plan: anew
-- The events before a position, newest first, likewise.
SELECT e.change, e.seq, e.memory_id, e.event_type, e.created_at, CASE WHEN e.event_type = 'erased' THEN e.payload END,
    m.user_id, m.agent_id, m.anonymized_at, e.source, e.actor, NOT {no_entry}
FROM memory_events AS e LEFT JOIN memories AS m ON m.tenant_id = e.tenant_id AND m.id = e.memory_id
WHERE e.tenant_id = :tenant AND {before_position}
ORDER BY e.change DESC, e.seq DESC LIMIT :limit

-- name: feed_head
-- plan: anew
-- The last event among those whose change is below a number.
SELECT change, seq FROM memory_events WHERE tenant_id = :tenant AND change < :below
ORDER BY change DESC, seq DESC LIMIT 1

-- name: last_foreign_event
-- The last event with a number of a transaction that there was none of yet.
SELECT max(seq) FROM memory_events WHERE tenant_id = :tenant AND change >= :from_change

-- name: restart_feed
-- Number the events of another server's transactions anew, by their sequence alone, and all that came before them.
UPDATE memory_events SET change = 0 WHERE tenant_id = :tenant AND change > 0 AND seq <= :until
