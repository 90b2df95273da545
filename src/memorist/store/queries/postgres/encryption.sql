-- Locks of encryption in the words of PostgreSQL. sqlite/ defines the same names.

-- name: share_tenant
-- scope: global
-- Let nobody change a tenant's keys before this transaction ends.
SELECT 1 FROM tenants WHERE id = :tenant FOR KEY SHARE

-- name: lock_tenant
-- scope: global
-- Wait for all who write with a tenant's keys; let nobody begin before this transaction ends.
SELECT 1 FROM tenants WHERE id = :tenant FOR UPDATE
