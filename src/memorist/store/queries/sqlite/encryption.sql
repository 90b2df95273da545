-- Locks of encryption in the words of SQLite, where one writes at a time. postgres/ defines the same names.

-- name: share_tenant
-- scope: global
-- Let nobody change a tenant's keys before this transaction ends.
SELECT 1 FROM tenants WHERE id = :tenant

-- name: lock_tenant
-- scope: global
-- Wait for all who write with a tenant's keys; let nobody begin before this transaction ends.
SELECT 1 FROM tenants WHERE id = :tenant
