-- name: claim_jobs
-- Take some of the jobs that are due, so that nobody else runs them until then.
-- Picked once and for all: a subquery that locks may run again for each row, and then picks others.
WITH picked AS MATERIALIZED (
    SELECT id AS picked_id FROM jobs WHERE tenant_id = :tenant AND status = 'waiting' AND run_at <= :now
    ORDER BY run_at, id LIMIT :limit FOR UPDATE SKIP LOCKED
)
UPDATE jobs SET run_at = :until, attempts = attempts + 1, updated_at = :now FROM picked
WHERE tenant_id = :tenant AND id = picked_id
RETURNING {job_columns}
