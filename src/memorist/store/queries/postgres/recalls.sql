-- What recalls need to say about lists of ids in the words of PostgreSQL. sqlite/ defines the same names.

-- name: erase_recalls
-- Remove the recalls of some memories.
DELETE FROM recalls WHERE tenant_id = :tenant AND memory_id = ANY (CAST(:ids AS text[]))
