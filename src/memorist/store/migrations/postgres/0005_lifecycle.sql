-- When a memory's next move is due, the policies that decide it, and how far each tenant's sweeper is.

-- Only what has a deadline is in these indexes, so that all else costs nothing. `due_at` is what lifecycle.due_at says;
-- rows from before get theirs when the sweeper first computes the tenant's deadlines.
ALTER TABLE memories ADD COLUMN due_at bigint;
CREATE INDEX memories_due ON memories (tenant_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX memories_expiring ON memories (tenant_id, expires_at, id)
    WHERE status IN ('active', 'archived') AND expires_at IS NOT NULL;
CREATE INDEX memories_retired ON memories (tenant_id, updated_at, id)
    WHERE status = 'archived' AND superseded_by IS NOT NULL AND anonymized_at IS NULL;

-- Every policy that was ever set; the newest is in force.
CREATE TABLE policies (
    tenant_id text NOT NULL,
    revision bigint NOT NULL,
    rules text NOT NULL,
    source text NOT NULL,
    actor text,
    created_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, revision)
);
-- @tenant_table policies

-- `recomputed_after`: the last memory whose deadlines follow the policy of `revision`; NULL when all do.
CREATE TABLE sweeps (
    tenant_id text NOT NULL,
    revision bigint NOT NULL,
    recomputed_after text COLLATE "C",
    report text,
    reported_at bigint,
    PRIMARY KEY (tenant_id)
);
-- @tenant_table sweeps
