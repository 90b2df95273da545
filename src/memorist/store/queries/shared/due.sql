-- What background rounds look for: who has work, whoever that is. The indexes of what waits hold nothing else.

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

-- name: tenants_of_other_models
-- scope: global
-- Whose vectors are of another model, or of none yet.
SELECT id FROM tenants WHERE index_model < :model
UNION ALL SELECT id FROM tenants WHERE index_model > :model LIMIT :limit

-- name: find_tenant
-- scope: global
-- One tenant.
SELECT id, created_at FROM tenants WHERE id = :tenant
