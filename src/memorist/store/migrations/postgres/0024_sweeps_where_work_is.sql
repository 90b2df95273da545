-- Whom the sweeper looks at, and what is counted of all tenants together: neither costs more where there are more tenants.

-- `is_open`: the next sweep looks at the tenant, whether or not a deadline has passed. Who was never swept is swept once.
ALTER TABLE sweeps ADD COLUMN is_open integer NOT NULL DEFAULT 1;
ALTER TABLE sweeps NO FORCE ROW LEVEL SECURITY;
INSERT INTO sweeps (tenant_id, revision, recomputed_after) SELECT id, 0, '' FROM tenants WHERE true ON CONFLICT DO NOTHING;
ALTER TABLE sweeps FORCE ROW LEVEL SECURITY;
CREATE INDEX sweeps_open ON sweeps (tenant_id) WHERE is_open = 1;

-- What is due, whoever has it: by time, and not by tenant.
CREATE INDEX memories_due_of_anybody ON memories (due_at, tenant_id) WHERE due_at IS NOT NULL;
CREATE INDEX memories_expiring_of_anybody ON memories (expires_at, tenant_id)
    WHERE status IN ('active', 'archived') AND expires_at IS NOT NULL AND (status = 'active' OR retention = 'keep');
CREATE INDEX memories_retired_of_anybody ON memories (updated_at, tenant_id)
    WHERE status = 'archived' AND superseded_by IS NOT NULL AND anonymized_at IS NULL
        AND governed_by IN ('agent_tools', 'native');
CREATE INDEX idempotency_keys_of_anybody ON idempotency_keys (expires_at, tenant_id);
CREATE INDEX jobs_done_of_anybody ON jobs (updated_at, tenant_id) WHERE status = 'done';
CREATE INDEX turns_of_anybody ON turns (created_at, tenant_id) WHERE session_id = id AND status <> 'running';

-- The names of the master keys, one step of the index each.
CREATE INDEX tenant_keys_by_master ON tenant_keys (master) WHERE number > 0;

-- Whoever reads as '*' asks whose rows are due and how many there are, and nothing else: tests hold the statements to it.
-- Named so that the policy of a tenant's own rows is looked at first: PostgreSQL begins with the last name.
DROP POLICY jobs_that_wait ON jobs;
DROP POLICY turns_that_run ON turns;
CREATE POLICY anybody_asks_for_memories ON memories FOR SELECT USING (current_setting('memorist.tenant', true) = '*');
CREATE POLICY anybody_asks_for_jobs ON jobs FOR SELECT USING (current_setting('memorist.tenant', true) = '*');
CREATE POLICY anybody_asks_for_turns ON turns FOR SELECT USING (current_setting('memorist.tenant', true) = '*');
CREATE POLICY anybody_asks_for_sweeps ON sweeps FOR SELECT USING (current_setting('memorist.tenant', true) = '*');
CREATE POLICY anybody_asks_for_answers ON idempotency_keys FOR SELECT
    USING (current_setting('memorist.tenant', true) = '*');
