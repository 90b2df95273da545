-- Deadlines, policies and the sweeper.

-- fragment: expired
status IN ('active', 'archived') AND expires_at <= :as_of AND (status = 'active' OR retention = 'keep')

-- name: move_memory
-- Let a memory that nobody changed since it was read enter another state.
UPDATE memories SET
    status = :status, updated_at = :updated_at, archive_at = :archive_at, retention_expires_at = :retention_expires_at,
    deleted_at = :deleted_at, hard_delete_at = :hard_delete_at, due_at = :due_at
WHERE tenant_id = :tenant AND id = :id AND updated_at = :expected_updated_at

-- fragment: of_door
    AND (CAST(:governed_by AS text) IS NULL OR governed_by = :governed_by)

-- fragment: anonymized_in_time
    AND governed_by IN ('agent_tools', 'native')

-- name: any_move_due
-- Whether a move of the policy is due, of whatever a door governs or of all.
SELECT 1 FROM memories WHERE tenant_id = :tenant AND due_at <= :as_of {of_door} LIMIT 1

-- name: any_expired
-- Whether a TTL has passed of a memory that is still active or archived.
SELECT 1 FROM memories
WHERE tenant_id = :tenant AND {expired} LIMIT 1

-- name: any_retired
-- Whether a fact is still to be anonymized that was retired by then.
SELECT 1 FROM memories
WHERE tenant_id = :tenant AND status = 'archived' AND superseded_by IS NOT NULL AND anonymized_at IS NULL
    AND updated_at <= :before {anonymized_in_time}
LIMIT 1

-- name: list_anonymizable
-- The ids of all these.
SELECT id FROM memories
WHERE tenant_id = :tenant AND status = 'archived' AND superseded_by IS NOT NULL AND anonymized_at IS NULL
    AND updated_at <= :before {anonymized_in_time}

-- name: count_due
-- For each move of the policy and each kind how many memories are due, and a few of their ids. A TTL goes first.
SELECT move, kind, id, total FROM (
    SELECT move, kind, id, count(*) OVER (PARTITION BY move, kind) AS total,
        row_number() OVER (PARTITION BY move, kind ORDER BY due_at, id) AS place
    FROM (
        SELECT kind, id, due_at, CASE
            WHEN status = 'active' AND archive_at IS NOT NULL THEN 'archived'
            WHEN status IN ('active', 'archived') THEN 'deleted'
            WHEN status = 'soft_deleted' THEN 'hard_delete_pending'
            ELSE 'purged'
        END AS move
        FROM memories
        WHERE tenant_id = :tenant AND due_at <= :as_of
            AND (expires_at IS NULL OR NOT ({expired}))
    ) AS moves
) AS due
WHERE place <= :samples ORDER BY move, kind, place

-- name: count_expired
-- For each kind how many memories are past their TTL and not yet deleted, and a few of their ids.
SELECT 'expired', kind, id, total FROM (
    SELECT kind, id, count(*) OVER (PARTITION BY kind) AS total,
        row_number() OVER (PARTITION BY kind ORDER BY expires_at, id) AS place
    FROM memories WHERE tenant_id = :tenant AND {expired}
) AS expired
WHERE place <= :samples ORDER BY kind, place

-- name: count_retired
-- For each kind how many facts are to be anonymized, and a few of their ids. What is to be deleted goes first.
SELECT 'anonymized', kind, id, total FROM (
    SELECT kind, id, count(*) OVER (PARTITION BY kind) AS total,
        row_number() OVER (PARTITION BY kind ORDER BY updated_at, id) AS place
    FROM memories
    WHERE tenant_id = :tenant AND status = 'archived' AND superseded_by IS NOT NULL AND anonymized_at IS NULL
        AND updated_at <= :before {anonymized_in_time}
        AND (expires_at IS NULL OR expires_at > :as_of) AND (due_at IS NULL OR due_at > :as_of)
) AS retired
WHERE place <= :samples ORDER BY kind, place

-- fragment: of_coming
    -- Each memory by its next deadline: a TTL goes first, then the policy; a fact that another replaced is anonymized.
    AND (:deleted = 1 OR status IN ('active', 'archived'))
    AND anonymized_at IS NULL
    {any_agent}
    {readable}

-- fragment: ends
status IN ('active', 'archived') AND expires_at IS NOT NULL AND (status = 'active' OR retention = 'keep')

-- fragment: moves_as
SELECT id, due_at AS at, CASE
        WHEN status = 'active' AND archive_at IS NOT NULL THEN 'archived'
        WHEN status IN ('active', 'archived') THEN 'deleted'
        WHEN status = 'soft_deleted' THEN 'hard_delete_pending'
        ELSE 'purged'
    END AS move FROM memories

-- fragment: moves_where
WHERE tenant_id = :tenant AND (due_at, id) > (:after, :after_id) AND due_at < :until
        AND NOT (expires_at IS NOT NULL AND expires_at <= due_at AND {ends})
        {of_coming}

-- fragment: ends_as
SELECT id, expires_at AS at, 'expired' AS move FROM memories

-- fragment: ends_where
WHERE tenant_id = :tenant AND (expires_at, id) > (:after, :after_id) AND expires_at < :until
        AND {ends} AND (due_at IS NULL OR expires_at <= due_at)
        {of_coming}

-- fragment: anonymized_as
SELECT id, updated_at + CAST(:wait AS bigint) AS at, 'anonymized' AS move FROM memories

-- fragment: anonymized_where
WHERE tenant_id = :tenant AND (updated_at, id) > (CAST(:after AS bigint) - CAST(:wait AS bigint), :after_id)
        AND updated_at < CAST(:until AS bigint) - CAST(:wait AS bigint)
        AND status = 'archived' AND superseded_by IS NOT NULL {anonymized_in_time}
        AND (expires_at IS NULL OR retention <> 'keep') AND due_at IS NULL
        {of_coming}

-- fragment: coming_of_tenant
    SELECT * FROM ({moves_as} {moves_where} ORDER BY due_at, id LIMIT :most) AS moves
    UNION ALL SELECT * FROM ({ends_as} {ends_where} ORDER BY expires_at, id LIMIT :most) AS ends
    UNION ALL SELECT * FROM ({anonymized_as} {anonymized_where} ORDER BY updated_at, id LIMIT :most) AS anonymized

-- fragment: coming_of_user
    SELECT * FROM (
        {moves_as} {by_due_of_user} {moves_where} AND user_id = :user_id ORDER BY due_at, id LIMIT :most
    ) AS moves
    UNION ALL SELECT * FROM (
        {ends_as} {by_end_of_user} {ends_where} AND user_id = :user_id ORDER BY expires_at, id LIMIT :most
    ) AS ends
    UNION ALL SELECT * FROM (
        {anonymized_as} {by_retiring_of_user} {anonymized_where} AND user_id = :user_id
        ORDER BY updated_at, id LIMIT :most
    ) AS anonymized

-- name: count_moves_of_tenant
-- How many of a tenant's memories each move comes to, up to a bound.
SELECT move, count(*) FROM ({coming_of_tenant}) AS coming GROUP BY move

-- name: count_moves_of_user
-- The same of a user's, with any agent or with one.
SELECT move, count(*) FROM ({coming_of_user}) AS coming GROUP BY move

-- name: next_moves_of_tenant
-- plan: anew
-- Which these are, the first of them.
SELECT id, at, move FROM ({coming_of_tenant}) AS coming ORDER BY at, id LIMIT :most

-- name: next_moves_of_user
-- plan: anew
-- The same of a user's.
SELECT id, at, move FROM ({coming_of_user}) AS coming ORDER BY at, id LIMIT :most

-- name: scan_aging
-- Memories that have deadlines, or should have, in id order: their states and times alone.
SELECT id, kind, governed_by, status, retention, superseded_by, created_at, updated_at, archive_at, retention_expires_at,
    expires_at, deleted_at, hard_delete_at, due_at
FROM memories
WHERE tenant_id = :tenant AND id > :after_id
    AND (retention = 'policy' OR status IN ('soft_deleted', 'hard_delete_pending'))
ORDER BY id LIMIT :limit

-- name: set_deadlines
-- Give a memory that nobody changed since it was read other deadlines.
UPDATE memories SET
    updated_at = :updated_at, archive_at = :archive_at, retention_expires_at = :retention_expires_at,
    hard_delete_at = :hard_delete_at, due_at = :due_at
WHERE tenant_id = :tenant AND id = :id AND updated_at = :expected_updated_at

-- name: redact_event
-- Leave of an event what happened, and when.
UPDATE memory_events SET payload = :payload, actor = NULL WHERE tenant_id = :tenant AND seq = :seq

-- name: entomb_event
-- Leave the same of an event of a memory that is purged, which is named in another way from then on.
UPDATE memory_events SET memory_id = :memory_id, payload = :payload, actor = NULL
WHERE tenant_id = :tenant AND seq = :seq

-- name: restate_index
-- A memory's row of the index, when it enters another state.
UPDATE memory_index SET change = :change, standing = :standing, expires_at = :expires_at, retired_at = :retired_at
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id = :memory_id

-- name: clear_index
-- Take the words and the vectors out of a memory's row of the index, which then waits for none.
UPDATE memory_index SET
    change = :change, terms = :terms, vectors = NULL, claimed_until = 0,
    model = coalesce((SELECT t.index_model FROM tenants AS t WHERE t.id = :tenant), '')
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id = :memory_id

-- name: get_policy
-- The policy in force.
SELECT revision, rules, source, actor, created_at FROM policies
WHERE tenant_id = :tenant ORDER BY revision DESC LIMIT 1

-- name: list_policies
-- The policies of a tenant, newest first.
SELECT revision, rules, source, actor, created_at FROM policies
WHERE tenant_id = :tenant ORDER BY revision DESC LIMIT :limit

-- name: get_observed_from
-- scope: global
-- When a tenant's observation window began.
SELECT observed_from FROM tenants WHERE id = :tenant

-- name: insert_policy
-- A new policy, unless another was set meanwhile.
INSERT INTO policies (tenant_id, revision, rules, source, actor, created_at)
VALUES (:tenant, :revision, :rules, :source, :actor, :created_at)
ON CONFLICT DO NOTHING

-- name: get_sweep
-- How far a tenant's sweeper is.
SELECT revision, recomputed_after, report, reported_at, is_open FROM sweeps WHERE tenant_id = :tenant

-- name: lock_sweep
-- Let nobody else change how far a tenant's sweeper is.
UPDATE sweeps SET revision = revision WHERE tenant_id = :tenant

-- name: put_sweep
-- Note how far a tenant's sweeper is.
INSERT INTO sweeps (tenant_id, revision, recomputed_after, report, reported_at, is_open)
VALUES (:tenant, :revision, :recomputed_after, :report, :reported_at, :is_open)
ON CONFLICT (tenant_id) DO UPDATE SET
    revision = excluded.revision, recomputed_after = excluded.recomputed_after, report = excluded.report,
    reported_at = excluded.reported_at, is_open = excluded.is_open
