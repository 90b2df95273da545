-- name: claim_jobs
-- Take some of the jobs that are due, so that nobody else runs them until then.
UPDATE jobs SET run_at = :until, attempts = attempts + 1, updated_at = :now
WHERE tenant_id = :tenant AND id IN (
    SELECT id FROM jobs WHERE tenant_id = :tenant AND status = 'waiting' AND run_at <= :now
    ORDER BY run_at, id LIMIT :limit
)
RETURNING {job_columns}
