-- What background rounds look for: who has work, whoever that is. The indexes of what waits hold nothing else; what has a
-- time to come is found by that time (`|| ''`: the indexes that begin with the tenant hold also what is not due).

-- name: tenants_with_jobs
-- scope: global
-- Whose jobs are due.
SELECT DISTINCT tenant_id FROM jobs
WHERE status = 'waiting' AND run_at <= :now AND tenant_id > :after ORDER BY tenant_id LIMIT :limit

-- name: tenants_with_waiting
-- scope: global
-- Whose memories wait for their vectors, also those that a process had taken which may be gone.
SELECT DISTINCT tenant_id FROM memory_index WHERE model = '' AND tenant_id > :after ORDER BY tenant_id LIMIT :limit

-- name: tenants_with_lost_turns
-- scope: global
-- Whose turns nobody works on any more.
SELECT DISTINCT tenant_id FROM turns
WHERE status = 'running' AND lease_until <= :now AND tenant_id > :after ORDER BY tenant_id LIMIT :limit

-- name: tenants_with_erasures
-- scope: global
-- Whose erasures were begun, or are due, and are not done.
SELECT DISTINCT tenant_id FROM receipts
WHERE status <> 'done' AND (status <> 'due' OR due_at <= :now) AND tenant_id > :after ORDER BY tenant_id LIMIT :limit

-- fragment: of_anybody
tenant_id || '' > :after ORDER BY 1 LIMIT :limit

-- name: tenants_with_moves
-- scope: global
-- Whose memories have passed a deadline, and whom the last sweep left open.
SELECT DISTINCT tenant_id FROM (
    SELECT tenant_id || '' AS tenant_id FROM memories WHERE due_at <= :now
    UNION ALL SELECT tenant_id || '' FROM memories
    WHERE status IN ('active', 'archived') AND expires_at IS NOT NULL AND (status = 'active' OR retention = 'keep')
        AND expires_at <= :now
    UNION ALL SELECT tenant_id FROM sweeps WHERE is_open = 1
) AS found
WHERE tenant_id > :after ORDER BY tenant_id LIMIT :limit

-- name: tenants_with_retired
-- scope: global
-- Who has facts that were retired by then and are not anonymized.
SELECT DISTINCT tenant_id || '' FROM memories
WHERE status = 'archived' AND superseded_by IS NOT NULL AND anonymized_at IS NULL {anonymized_in_time}
    AND updated_at <= :now AND {of_anybody}

-- name: tenants_with_old_answers
-- scope: global
-- Whose remembered answers are past their time.
SELECT DISTINCT tenant_id || '' FROM idempotency_keys WHERE expires_at <= :now AND {of_anybody}

-- name: tenants_with_old_jobs
-- scope: global
-- Who has jobs that were done before then.
SELECT DISTINCT tenant_id || '' FROM jobs WHERE status = 'done' AND updated_at < :now AND {of_anybody}

-- name: tenants_with_old_turns
-- scope: global
-- Who has turns without a session from before then.
SELECT DISTINCT tenant_id || '' FROM turns
WHERE session_id = id AND status <> 'running' AND created_at <= :now AND {of_anybody}

-- name: tenants_of_other_models
-- scope: global
-- Whose vectors are of another model, or of none yet, but for those of some models.
SELECT id FROM tenants WHERE index_model < :model AND NOT index_model {among_ids}
UNION ALL SELECT id FROM tenants WHERE index_model > :model AND NOT index_model {among_ids} LIMIT :limit

-- name: tenants_of_model
-- scope: global
-- Whose vectors are of a model.
SELECT id FROM tenants WHERE index_model = :model LIMIT :limit

-- name: find_tenant
-- scope: global
-- One tenant.
SELECT id, created_at FROM tenants WHERE id = :tenant

-- name: census_of_memories
-- scope: global
-- How many memories there are of each state.
SELECT status, count(*) FROM memories
WHERE (expires_at IS NULL OR expires_at > :now OR status <> 'active') AND anonymized_at IS NULL
GROUP BY status

-- name: census_of_jobs
-- scope: global
-- How many jobs there are of each state.
SELECT status, count(*) FROM jobs GROUP BY status

-- name: census_of_waiting
-- scope: global
-- How many memories wait for their vectors.
SELECT '', count(*) FROM memory_index WHERE model = ''

-- name: census_of_tenants
-- scope: global
-- How many tenants there are.
SELECT '', count(*) FROM tenants
