-- The feed of changes: the history of a tenant in the order of its commits. See platform/feed.py.

-- name: read_feed
-- plan: anew
-- The next events after a position, each with the owner of its memory.
SELECT e.change, e.seq, e.memory_id, e.event_type, e.created_at, CASE WHEN e.event_type = 'erased' THEN e.payload END,
    m.user_id, m.agent_id
FROM memory_events AS e LEFT JOIN memories AS m ON m.tenant_id = e.tenant_id AND m.id = e.memory_id
WHERE e.tenant_id = :tenant AND (e.change, e.seq) > (:change, :seq)
ORDER BY e.change, e.seq LIMIT :limit

-- name: feed_head
-- plan: anew
-- The last event among those whose change is below a number.
SELECT change, seq FROM memory_events WHERE tenant_id = :tenant AND change < :below
ORDER BY change DESC, seq DESC LIMIT 1

-- name: restart_feed
-- Number events of another server's transactions anew, by their sequence alone.
UPDATE memory_events SET change = 0 WHERE tenant_id = :tenant AND change >= :from_change
