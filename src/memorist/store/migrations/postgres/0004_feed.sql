-- The audit trail in the order of its commits, which changes are followed by; and what coding assistants search.

-- The transaction that wrote the event: numbers of a sequence are not in the order of commits. 0 is from before.
ALTER TABLE memory_events ADD COLUMN change bigint NOT NULL DEFAULT 0;
CREATE INDEX memory_events_in_order ON memory_events (tenant_id, change, seq);

CREATE INDEX memories_chunks ON memories (tenant_id, user_id, created_at, id)
    WHERE status = 'active' AND category IN ('decision', 'fact', 'solution', 'pattern', 'preference', 'summary');
