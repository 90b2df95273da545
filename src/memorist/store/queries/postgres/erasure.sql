-- What erasure says about lists of ids in the words of PostgreSQL. sqlite/ defines the same names.

-- fragment: among_ids
= ANY (CAST(:ids AS text[]))

-- fragment: each_id
unnest(CAST(:ids AS text[])) AS one

-- fragment: one_id
one

-- fragment: position
strpos

-- name: lock_receipt
-- One receipt, which nobody else changes until this transaction ends.
SELECT {receipt_columns} FROM receipts WHERE tenant_id = :tenant AND id = :id FOR UPDATE

-- name: lock_document
-- One document of exactly that owner, which nobody else changes until this transaction ends.
SELECT {document_columns} FROM documents
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND id = :id
FOR UPDATE

-- name: hold_document_name
-- Nobody else has this number until this transaction ends. It is kept where the tenant's documents are, so that it is the same
-- one through every node of a cluster; counting nothing gives the one row for which it is taken.
SELECT pg_advisory_xact_lock(CAST(:key AS bigint))
FROM (SELECT count(*) FROM documents WHERE tenant_id = :tenant AND id = '') AS here

-- name: hold_memories
-- Those of some memories that exist; nobody erases them before this transaction ends.
SELECT id FROM memories WHERE tenant_id = :tenant AND id = ANY (CAST(:ids AS text[])) ORDER BY id FOR KEY SHARE

-- name: hold_event
-- What an event says; nobody else changes it before this transaction ends.
SELECT payload FROM memory_events WHERE tenant_id = :tenant AND seq = :seq FOR UPDATE

-- name: hold_free_memories
-- plan: by index
-- The same, but for those that somebody erases now.
SELECT id FROM memories WHERE tenant_id = :tenant AND id = ANY (CAST(:ids AS text[])) ORDER BY id FOR KEY SHARE SKIP LOCKED

-- name: hold_for_good
-- Those of some memories that may precede others; this transaction erases them, or gives them away.
SELECT id FROM memories WHERE tenant_id = :tenant AND kind = 'chat_message' AND session_id <> '' AND id = ANY (CAST(:ids AS text[])) ORDER BY id FOR UPDATE

-- name: list_own_words
-- scope: global
-- What the files hold of their own, whatever is stored; a server keeps its files to itself.
SELECT name FROM schema_migrations
