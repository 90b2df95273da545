-- The audit log: a chain of entries for each tenant, its head, and what has no place in it yet. See audit/service.py.

-- fragment: audit_columns
number, at, kind, door, route, outcome, key_id, role, user_hash, agent_hash, on_behalf, ids, times, hash

-- name: read_audit_head
-- Where the chain of a tenant begins and ends.
SELECT number, hash, first, anchor, salt FROM audit_heads WHERE tenant_id = :tenant

-- name: hold_audit_head
-- The same, made where it is missing, and nobody else's until the transaction ends.
INSERT INTO audit_heads (tenant_id, number, hash, first, anchor, salt) VALUES (:tenant, 0, '', 1, '', :salt)
ON CONFLICT (tenant_id) DO UPDATE SET number = audit_heads.number
RETURNING number, hash, first, anchor, salt

-- name: move_audit_head
-- The chain ends here now.
UPDATE audit_heads SET number = :number, hash = :hash WHERE tenant_id = :tenant

-- name: move_audit_start
-- The chain begins here now.
UPDATE audit_heads SET first = :first, anchor = :anchor WHERE tenant_id = :tenant

-- name: insert_audit_entry
-- One entry of the chain.
INSERT INTO audit_log (tenant_id, {audit_columns})
VALUES (:tenant, :number, :at, :kind, :door, :route, :outcome, :key_id, :role, :user_hash, :agent_hash, :on_behalf,
    :ids, :times, :hash)

-- name: list_audit_entries
-- plan: anew
-- Entries between two numbers, newest first.
SELECT {audit_columns} FROM audit_log
WHERE tenant_id = :tenant AND number < :before AND number > :after
    AND (CAST(:kind AS text) = '' OR kind = :kind) AND (CAST(:outcome AS text) = '' OR outcome = :outcome)
    AND (CAST(:key_id AS text) = '' OR key_id = :key_id) AND (CAST(:user_hash AS text) = '' OR user_hash = :user_hash)
    AND (CAST(:route AS text) = '' OR route = :route OR route LIKE '% ' || CAST(:route AS text))
    AND (CAST(:about AS text) = '' OR ids LIKE '%' || CAST(:about AS text) || '%')
ORDER BY number DESC LIMIT :limit

-- name: follow_audit_entries
-- The entries after a number, oldest first.
SELECT {audit_columns} FROM audit_log WHERE tenant_id = :tenant AND number > :after ORDER BY number LIMIT :limit

-- name: first_audit_entry_since
-- The first entry that is not older than a moment.
SELECT number FROM audit_log WHERE tenant_id = :tenant AND at >= :moment ORDER BY number LIMIT 1

-- name: trim_audit_log
-- Remove the entries before a number.
DELETE FROM audit_log WHERE tenant_id = :tenant AND number < :first

-- name: insert_audit_waiting
-- What this transaction does, until it has its place in the chain.
INSERT INTO audit_waiting (tenant_id, id, act) VALUES (:tenant, :id, :act)

-- name: take_audit_waiting
-- What has no place in the chain yet, to be given one.
DELETE FROM audit_waiting WHERE tenant_id = :tenant RETURNING id, act

-- name: count_audit_waiting
-- How much of that there is.
SELECT count(*) FROM audit_waiting WHERE tenant_id = :tenant
