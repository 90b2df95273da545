-- What recalls need to say about lists of ids in the words of SQLite. postgres/ defines the same names.

-- name: erase_recalls
-- Remove the recalls of some memories.
DELETE FROM recalls WHERE tenant_id = :tenant AND memory_id IN (SELECT value FROM json_each(:ids))
