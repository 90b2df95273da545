-- The keys of encrypted tenants, and encrypting what is there. See store/sealed.py and store/resealing.py.

-- name: list_tenant_keys
-- The keys of a tenant, oldest first.
SELECT number, wrapped, master, is_complete FROM tenant_keys WHERE tenant_id = :tenant ORDER BY number

-- name: insert_tenant_key
-- A key of a tenant.
INSERT INTO tenant_keys (tenant_id, number, wrapped, master, is_complete, created_at)
VALUES (:tenant, :number, :wrapped, :master, :is_complete, :created_at)
ON CONFLICT DO NOTHING

-- name: rewrap_tenant_key
-- The same key, wrapped by another master key.
UPDATE tenant_keys SET wrapped = :wrapped, master = :master WHERE tenant_id = :tenant AND number = :number

-- name: complete_tenant_key
-- Note that everything is encrypted with a key.
UPDATE tenant_keys SET is_complete = 1 WHERE tenant_id = :tenant AND number = :number

-- name: drop_tenant_keys
-- Remove the keys before another one.
DELETE FROM tenant_keys WHERE tenant_id = :tenant AND number > 0 AND number < :number

-- name: purge_tenant_keys
-- Remove all keys of a tenant: nothing that they encrypted can be read again, wherever it is. It stays encrypted.
DELETE FROM tenant_keys WHERE tenant_id = :tenant AND number > 0

-- name: list_master_keys
-- scope: global
-- The names of the master keys that are needed, one step of the index each.
WITH RECURSIVE found (master) AS (
    SELECT min(master) FROM tenant_keys WHERE number > 0
    UNION ALL
    SELECT (SELECT min(k.master) FROM tenant_keys AS k WHERE k.number > 0 AND k.master > found.master)
    FROM found WHERE found.master IS NOT NULL
)
SELECT master FROM found WHERE master IS NOT NULL

-- template: list_sealed
-- Some rows of a table: their keys and what is encrypted in them.
SELECT {row}, {columns} FROM {table} WHERE tenant_id = :tenant AND ({row}) > ({after}) ORDER BY {row} LIMIT :limit

-- template: seal
-- Put other values into a row that nobody changed since it was read.
UPDATE {table} SET {changes} WHERE tenant_id = :tenant AND {is_row} AND {unchanged}
