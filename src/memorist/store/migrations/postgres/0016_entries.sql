-- Only its user reads an entry of the companion: what others are shown and told the number of is without them.

DROP INDEX memories_facets;
CREATE INDEX memories_facets ON memories
    (tenant_id, user_id, status, kind, category, trust, agent_id, expires_at, anonymized_at, governed_by);
CREATE INDEX memories_entries ON memories (tenant_id, user_id, id) WHERE governed_by = 'companion';
