-- When a memory's next move is due, the policies that decide it, and how far each tenant's sweeper is.

-- Only what has a deadline is in these indexes, so that all else costs nothing. `due_at` is what lifecycle.due_at says;
-- rows from before get theirs when the sweeper first computes the tenant's deadlines.
ALTER TABLE memories ADD COLUMN due_at INTEGER;
CREATE INDEX memories_due ON memories (tenant_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX memories_expiring ON memories (tenant_id, expires_at, id)
    WHERE status IN ('active', 'archived') AND expires_at IS NOT NULL;
CREATE INDEX memories_retired ON memories (tenant_id, updated_at, id)
    WHERE status = 'archived' AND superseded_by IS NOT NULL AND anonymized_at IS NULL;

-- Every policy that was ever set; the newest is in force.
CREATE TABLE policies (
    tenant_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    rules TEXT NOT NULL,
    source TEXT NOT NULL,
    actor TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, revision)
) STRICT, WITHOUT ROWID;

-- `recomputed_after`: the last memory whose deadlines follow the policy of `revision`; NULL when all do.
CREATE TABLE sweeps (
    tenant_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    recomputed_after TEXT,
    report TEXT,
    reported_at INTEGER,
    PRIMARY KEY (tenant_id)
) STRICT, WITHOUT ROWID;
