-- Locks of encryption in the words of PostgreSQL. sqlite/ defines the same names.

-- name: share_tenant
-- scope: global
-- Let nobody change a tenant's keys before this transaction ends. A number is held, where all connect to, and not the row:
-- a cluster would ask another node for that, and let only one write at a time.
SELECT pg_advisory_xact_lock_shared(7169389, hashtext(:tenant))

-- name: lock_tenant
-- scope: global
-- Wait for all who write with a tenant's keys; let nobody begin before this transaction ends.
SELECT pg_advisory_xact_lock(7169389, hashtext(:tenant))
