-- What erasure says about lists of ids in the words of PostgreSQL. sqlite/ defines the same names.

-- fragment: may_quote
user_id IN (SELECT '' UNION SELECT m.user_id FROM memories AS m WHERE m.tenant_id = :tenant AND m.id = ANY (CAST(:ids AS text[])))
    OR EXISTS (SELECT 1 FROM memories AS m WHERE m.tenant_id = :tenant AND m.id = ANY (CAST(:ids AS text[])) AND m.user_id = '')

-- name: lock_receipt
-- One receipt, which nobody else changes until this transaction ends.
SELECT {receipt_columns} FROM receipts WHERE tenant_id = :tenant AND id = :id FOR UPDATE

-- name: find_erased
-- Which of some ids the ledger has.
SELECT id FROM erasures WHERE tenant_id = :tenant AND kind = :kind AND id = ANY (CAST(:ids AS text[]))

-- name: purge_doubts_of_memories
-- Remove doubts about some facts.
DELETE FROM doubts WHERE tenant_id = :tenant AND (fact_id = ANY (CAST(:ids AS text[])) OR other_id = ANY (CAST(:ids AS text[])))

-- name: purge_jobs_of_memories
-- Remove jobs that name some memories: what they carry may quote them. Only their owners' can, and nobody's.
DELETE FROM jobs WHERE tenant_id = :tenant AND ({may_quote}) AND EXISTS (
    SELECT 1 FROM unnest(CAST(:ids AS text[])) AS one
    WHERE strpos(jobs.key || ' ' || payload || ' ' || coalesce(error, '') || ' ' || coalesce(result, ''), one) > 0
)

-- name: purge_idempotency_of_memories
-- Forget remembered answers that quote some memories. Only their owners' can, and nobody's.
DELETE FROM idempotency_keys WHERE tenant_id = :tenant AND ({may_quote}) AND EXISTS (
    SELECT 1 FROM unnest(CAST(:ids AS text[])) AS one WHERE strpos(route || ' ' || response, one) > 0
)

-- name: purge_sweeps_of_memories
-- Drop a sweeper's report that names some memories; where it stood at one, it goes on from just before.
UPDATE sweeps SET
    report = CASE WHEN EXISTS (SELECT 1 FROM unnest(CAST(:ids AS text[])) AS one WHERE strpos(report, one) > 0) THEN NULL ELSE report END,
    recomputed_after = CASE WHEN recomputed_after = ANY (CAST(:ids AS text[]))
        THEN substr(recomputed_after, 1, length(recomputed_after) - 1) ELSE recomputed_after END
WHERE tenant_id = :tenant AND (
    recomputed_after = ANY (CAST(:ids AS text[]))
    OR EXISTS (SELECT 1 FROM unnest(CAST(:ids AS text[])) AS one WHERE strpos(report, one) > 0)
)

-- name: count_named
-- How many rows of each table name one of some memories.
SELECT 'memories', count(*) FROM memories
WHERE tenant_id = :tenant AND (id = ANY (CAST(:ids AS text[])) OR source_ref = ANY (CAST(:ids AS text[])) OR superseded_by = ANY (CAST(:ids AS text[])))
UNION ALL SELECT 'memory_index', count(*) FROM memory_index WHERE tenant_id = :tenant AND memory_id = ANY (CAST(:ids AS text[]))
UNION ALL SELECT 'memory_events', count(*) FROM memory_events WHERE tenant_id = :tenant AND memory_id = ANY (CAST(:ids AS text[]))
UNION ALL SELECT 'tool_outputs', count(*) FROM tool_outputs WHERE tenant_id = :tenant AND memory_id = ANY (CAST(:ids AS text[]))
UNION ALL SELECT 'recalls', count(*) FROM recalls WHERE tenant_id = :tenant AND memory_id = ANY (CAST(:ids AS text[]))
UNION ALL SELECT 'doubts', count(*) FROM doubts WHERE tenant_id = :tenant AND (fact_id = ANY (CAST(:ids AS text[])) OR other_id = ANY (CAST(:ids AS text[])))
UNION ALL SELECT 'jobs', count(*) FROM jobs WHERE tenant_id = :tenant AND EXISTS (
    SELECT 1 FROM unnest(CAST(:ids AS text[])) AS one
    WHERE strpos(jobs.key || ' ' || payload || ' ' || coalesce(error, '') || ' ' || coalesce(result, ''), one) > 0
)
UNION ALL SELECT 'idempotency_keys', count(*) FROM idempotency_keys WHERE tenant_id = :tenant AND EXISTS (
    SELECT 1 FROM unnest(CAST(:ids AS text[])) AS one WHERE strpos(route || ' ' || response, one) > 0
)
UNION ALL SELECT 'sweeps', count(*) FROM sweeps WHERE tenant_id = :tenant AND EXISTS (
    SELECT 1 FROM unnest(CAST(:ids AS text[])) AS one WHERE strpos(coalesce(report, '') || ' ' || coalesce(recomputed_after, ''), one) > 0
)

-- name: hold_memories
-- Those of some memories that exist; nobody erases them before this transaction ends.
SELECT id FROM memories WHERE tenant_id = :tenant AND id = ANY (CAST(:ids AS text[])) ORDER BY id FOR KEY SHARE

-- name: list_own_words
-- scope: global
-- What the files hold of their own, whatever is stored; a server keeps its files to itself.
SELECT name FROM schema_migrations
