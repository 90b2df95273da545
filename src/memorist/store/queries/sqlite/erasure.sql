-- What erasure says about lists of ids in the words of SQLite. postgres/ defines the same names.

-- fragment: among_ids
IN (SELECT value FROM json_each(:ids))

-- fragment: each_id
json_each(:ids) AS one

-- fragment: one_id
one.value

-- fragment: position
instr

-- name: lock_receipt
-- One receipt, which nobody else changes until this transaction ends.
SELECT {receipt_columns} FROM receipts WHERE tenant_id = :tenant AND id = :id

-- name: lock_document
-- One document of exactly that owner, which nobody else changes until this transaction ends.
SELECT {document_columns} FROM documents
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND id = :id

-- name: hold_document_name
-- Nothing: only one transaction at a time writes.
SELECT 1 FROM documents WHERE tenant_id = :tenant AND :key IS NULL

-- name: hold_memories
-- Those of some memories that exist; nobody erases them before this transaction ends.
SELECT id FROM memories WHERE tenant_id = :tenant AND id IN (SELECT value FROM json_each(:ids))

-- name: hold_event
-- What an event says; nobody else changes it before this transaction ends.
SELECT payload FROM memory_events WHERE tenant_id = :tenant AND seq = :seq

-- name: hold_free_memories
-- The same, but for those that somebody erases now.
SELECT id FROM memories WHERE tenant_id = :tenant AND id IN (SELECT value FROM json_each(:ids))

-- name: hold_for_good
-- Those of some memories that may precede others; this transaction erases them, or gives them away.
SELECT id FROM memories WHERE tenant_id = :tenant AND kind = 'chat_message' AND session_id <> '' AND id IN (SELECT value FROM json_each(:ids))

-- name: list_own_words
-- scope: global
-- What the files hold of their own, whatever is stored.
SELECT name || ' ' || coalesce(sql, '') FROM sqlite_schema
UNION ALL SELECT name FROM schema_migrations
UNION ALL SELECT DISTINCT route FROM audit_log
UNION ALL SELECT 'SQLite format 3'
