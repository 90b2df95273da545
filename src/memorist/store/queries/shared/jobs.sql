-- Work that waits, in the words of both databases. A job is one attempt's while `attempts` is what that one made it.

-- fragment: job_columns
id, kind, key, user_id, agent_id, acting, payload, status, attempts, run_at, error, result, created_at, updated_at

-- name: insert_job
-- A new job, unless one of that kind and key was added before.
INSERT INTO jobs (tenant_id, {job_columns})
VALUES (
    :tenant, :id, :kind, :key, :user_id, :agent_id, :acting, :payload, :status, :attempts, :run_at, :error, :result,
    :created_at, :updated_at
)
ON CONFLICT DO NOTHING

-- name: get_job
-- One job.
SELECT {job_columns} FROM jobs WHERE tenant_id = :tenant AND id = :id

-- name: find_job
-- The job of a kind that was added under a key.
SELECT {job_columns} FROM jobs WHERE tenant_id = :tenant AND kind = :kind AND key = :key AND key <> ''

-- name: any_due
-- Whether a tenant has a job that is due.
SELECT 1 FROM jobs WHERE tenant_id = :tenant AND status = 'waiting' AND run_at <= :now LIMIT 1

-- name: hold_job
-- Let nobody else change a job before this transaction ends: a write locks it, on every database.
UPDATE jobs SET attempts = attempts WHERE tenant_id = :tenant AND id = :id

-- name: finish_job
-- Note how an attempt ended, unless the job was given to another one meanwhile.
UPDATE jobs SET status = :status, run_at = :run_at, error = :error, result = :result, updated_at = :updated_at
WHERE tenant_id = :tenant AND id = :id AND status = 'waiting' AND attempts = :attempts

-- name: extend_job
-- Keep a job for the attempt that has it, unless it was given to another one meanwhile, or that one has said something.
UPDATE jobs SET run_at = :until
WHERE tenant_id = :tenant AND id = :id AND status = 'waiting' AND attempts = :attempts AND updated_at = :updated_at

-- name: retry_job
-- Make a job due now; a dead one as if it had never been tried.
UPDATE jobs SET
    status = 'waiting', attempts = CASE WHEN status = 'dead' THEN 0 ELSE attempts END, run_at = :now, updated_at = :now
WHERE tenant_id = :tenant AND id = :id AND status <> 'done'

-- name: list_jobs
-- A page of the jobs of a slice of owners, newest first.
SELECT {job_columns} FROM jobs
WHERE tenant_id = :tenant AND id < :before_id AND {of_slice}
    AND (CAST(:status AS text) IS NULL OR status = :status)
    AND (CAST(:kind AS text) IS NULL OR kind = :kind)
ORDER BY id DESC LIMIT :limit

-- name: list_jobs_not_done
-- The same of those that wait or are dead, which are few among those that are done.
SELECT {job_columns} FROM jobs
WHERE tenant_id = :tenant AND id < :before_id AND status <> 'done' AND status = :status AND {of_slice}
    AND (CAST(:kind AS text) IS NULL OR kind = :kind)
ORDER BY id DESC LIMIT :limit

-- name: drop_job
-- Remove a job.
DELETE FROM jobs WHERE tenant_id = :tenant AND id = :id

-- name: drop_done_jobs
-- Remove jobs that were done before a moment.
DELETE FROM jobs WHERE tenant_id = :tenant AND status = 'done' AND updated_at < :before

-- name: erase_jobs
-- Remove the jobs of a slice of owners: what they carry may quote memories.
DELETE FROM jobs WHERE tenant_id = :tenant AND {of_slice}
