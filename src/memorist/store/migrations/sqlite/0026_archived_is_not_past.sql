-- What was archived without another fact taking its place is out of every search, of the past too: searchable.py says
-- the same (2 is gone). Rows of the index from before say that it is of the past (1).

-- The change of these rows is later than all that anybody read of the tenant, so that they are read again: which counter is
-- whose is not known here.
UPDATE memory_index SET standing = 2, change = latest.change + 1
FROM memories AS m, (
    SELECT tenant_id, max(change) AS change FROM (
        SELECT tenant_id, change FROM index_changes UNION ALL SELECT tenant_id, change FROM memory_index
    ) AS known GROUP BY tenant_id
) AS latest
WHERE memory_index.standing = 1
    AND m.tenant_id = memory_index.tenant_id AND m.user_id = memory_index.user_id AND m.id = memory_index.memory_id
    AND m.status = 'archived' AND m.superseded_by IS NULL AND m.valid_to IS NULL
    AND latest.tenant_id = memory_index.tenant_id;
-- So no counter of the tenant is behind it.
UPDATE index_changes SET change = latest.change
FROM (SELECT tenant_id, max(change) AS change FROM memory_index GROUP BY tenant_id) AS latest
WHERE latest.tenant_id = index_changes.tenant_id AND latest.change > index_changes.change;
