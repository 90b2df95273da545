-- Pairs of facts that somebody is to decide: few, among all that were decided.

CREATE INDEX doubts_open ON doubts (tenant_id, id) WHERE status = 'open';
