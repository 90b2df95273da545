-- Statements that run unchanged on SQLite, PostgreSQL and Citus.
-- Each has a name and a line that says what it is for. A statement on a tenant's table names :tenant, or it is refused.

-- fragment: unexpired
(expires_at IS NULL OR expires_at > :now OR status NOT IN ('active', 'archived')
        OR (status = 'archived' AND retention = 'policy'))

-- fragment: ended_into
CASE WHEN status = 'active' AND retention = 'policy' AND :archiving LIKE '%' || kind || '%'
        THEN 'archived' ELSE 'soft_deleted' END

-- fragment: in_state
((:ended = '' AND {unexpired}) OR (:ended <> '' AND expires_at <= :now
        AND (status = 'active' OR (status = 'archived' AND retention = 'keep')) AND {ended_into} = :ended))

-- fragment: list_filters
    AND {in_state} AND anonymized_at IS NULL {readable}
    AND (CAST(:name AS text) IS NULL OR name = :name)
    AND (CAST(:kind AS text) IS NULL OR kind = :kind)
    AND (CAST(:category AS text) IS NULL OR category = :category)
    AND (CAST(:project AS text) IS NULL OR project = :project)
    AND (CAST(:session_id AS text) IS NULL OR session_id = :session_id)

-- fragment: no_entry
(governed_by <> 'companion' AND (kind <> 'tool_output' OR meta IS NULL OR CAST(meta AS text) NOT LIKE '%"quotes"%'))

-- fragment: readable
    AND (:entries = 1 OR {no_entry})

-- fragment: any_agent
    AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)

-- name: get_memory
-- One memory, whatever its status.
SELECT {memory_columns} FROM memories WHERE tenant_id = :tenant AND id = :id

-- name: insert_memory
-- Write a memory, unless its id, its name or its text exists already for that owner.
INSERT INTO memories ({memory_columns}, due_at) VALUES ({memory_values}, :due_at) ON CONFLICT DO NOTHING

-- name: replace_memory
-- Change a memory that nobody changed since it was read.
UPDATE memories SET {memory_changes}, due_at = :due_at
WHERE tenant_id = :tenant AND id = :id AND updated_at = :expected_updated_at

-- name: find_named
-- The active memory of a name.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND name = :name
    AND status = 'active' AND name <> ''

-- name: count_named_memories
-- plan: anew
-- How many current memories with a name a slice of owners has.
SELECT count(*) FROM memories
WHERE tenant_id = :tenant AND status = 'active' AND name <> '' AND {of_slice}
    AND (expires_at IS NULL OR expires_at > :now)
    AND (CAST(:category AS text) IS NULL OR category = :category)

-- name: find_duplicate
-- The active memory with the same text for the same owner.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND dedup_key = :dedup_key
    AND status = 'active'

-- name: list_newest_of_owner
-- plan: anew
-- A page of one owner's memories, newest first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND status = :status
    AND (created_at, id) < (:after_time, :after_id)
    {list_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: list_newest_of_user
-- plan: anew
-- A page of one user's memories, newest first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND status = :status
    AND (created_at, id) < (:after_time, :after_id)
    {list_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: list_newest_of_tenant
-- plan: anew
-- A page of a tenant's memories, newest first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND status = :status
    AND (created_at, id) < (:after_time, :after_id)
    {any_agent}
    {list_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: list_named_newest_of_owner
-- plan: anew
-- A page of one owner's named memories, newest first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND status = :status AND name <> ''
    AND (created_at, id) < (:after_time, :after_id)
    {list_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: list_named_newest_of_user
-- plan: anew
-- A page of one user's named memories, newest first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND status = :status AND name <> ''
    AND (created_at, id) < (:after_time, :after_id)
    {list_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: list_named_newest_of_tenant
-- plan: anew
-- A page of a tenant's named memories, newest first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND status = :status AND name <> ''
    AND (created_at, id) < (:after_time, :after_id)
    {any_agent}
    {list_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: list_named_importance_of_owner
-- plan: anew
-- A page of one owner's named memories, the most important first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND status = :status AND name <> ''
    AND (importance, created_at, id) < (:after_importance, :after_time, :after_id)
    {list_filters}
ORDER BY importance DESC, created_at DESC, id DESC LIMIT :limit

-- name: list_named_importance_of_user
-- plan: anew
-- A page of one user's named memories, the most important first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND status = :status AND name <> ''
    AND (importance, created_at, id) < (:after_importance, :after_time, :after_id)
    {list_filters}
ORDER BY importance DESC, created_at DESC, id DESC LIMIT :limit

-- name: list_named_importance_of_tenant
-- plan: anew
-- A page of a tenant's named memories, the most important first.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND status = :status AND name <> ''
    AND (importance, created_at, id) < (:after_importance, :after_time, :after_id)
    {any_agent}
    {list_filters}
ORDER BY importance DESC, created_at DESC, id DESC LIMIT :limit

-- name: scan_memories
-- All memories of a slice in id order, whatever their status; of all users' also what is nobody's.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND id > :after_id AND {of_slice} {readable}
    AND (CAST(:user_id AS text) IS NULL OR anonymized_at IS NULL OR user_id <> '' OR agent_id <> '')
ORDER BY id LIMIT :limit

-- name: find_idempotency
-- What was answered to a request of that key.
SELECT principal, route, key, user_id, request_hash, response, created_at, expires_at FROM idempotency_keys
WHERE tenant_id = :tenant AND principal = :principal AND route = :route AND key = :key

-- name: insert_idempotency
-- Remember the answer to a request, unless the key is taken.
INSERT INTO idempotency_keys (tenant_id, principal, route, key, user_id, request_hash, response, created_at, expires_at)
VALUES (:tenant, :principal, :route, :key, :user_id, :request_hash, :response, :created_at, :expires_at)
ON CONFLICT DO NOTHING

-- name: drop_expired_idempotency
-- Forget answers that are past their time.
DELETE FROM idempotency_keys WHERE tenant_id = :tenant AND expires_at <= :now

-- name: erase_idempotency
-- Forget every remembered answer of a user and of those who act for nobody, or of all users.
DELETE FROM idempotency_keys
WHERE tenant_id = :tenant AND (CAST(:user_id AS text) IS NULL OR user_id IN ('', :user_id))

-- name: insert_tenant
-- scope: global
-- A new tenant, unless it exists.
INSERT INTO tenants (id, created_at, observed_from) VALUES (:id, :created_at, :created_at) ON CONFLICT DO NOTHING

-- name: list_tenants
-- scope: global
-- All tenants, oldest first.
SELECT id, created_at FROM tenants ORDER BY created_at, id

-- name: find_key
-- scope: global
-- The key with that hash: this is how the tenant becomes known.
SELECT id, tenant_id, secret_hash, role, user_id, agent_id, label, created_at, revoked_at, last_used_at,
    expires_at
FROM api_keys WHERE secret_hash = :secret_hash

-- name: any_key
-- scope: global
-- Whether any key was ever made.
SELECT 1 FROM api_keys LIMIT 1

-- name: list_keys
-- A tenant's keys, oldest first.
SELECT id, tenant_id, secret_hash, role, user_id, agent_id, label, created_at, revoked_at, last_used_at,
    expires_at
FROM api_keys WHERE tenant_id = :tenant ORDER BY created_at, id

-- name: insert_key
-- A new key; only the hash of its secret is kept.
INSERT INTO api_keys (
    id, tenant_id, secret_hash, role, user_id, agent_id, label, created_at, revoked_at, last_used_at, expires_at
) VALUES (
    :id, :tenant, :secret_hash, :role, :user_id, :agent_id, :label, :created_at, :revoked_at, :last_used_at, :expires_at
)

-- name: revoke_key
-- End a key that was not revoked before.
UPDATE api_keys SET revoked_at = :at WHERE tenant_id = :tenant AND id = :id AND revoked_at IS NULL

-- name: touch_key
-- Note when a key was last used.
UPDATE api_keys SET last_used_at = :at
WHERE tenant_id = :tenant AND id = :id AND (last_used_at IS NULL OR last_used_at < :at)

-- name: ping
-- scope: global
-- Whether the database answers and has its tables.
SELECT count(*) FROM (SELECT 1 FROM tenants LIMIT 1) AS probe

-- name: applied_migrations
-- scope: global
-- What has been applied, in order.
SELECT version, name, checksum, applied_at FROM schema_migrations ORDER BY version

-- name: record_migration
-- scope: global
-- Note that a migration has been applied.
INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (:version, :name, :checksum, :applied_at)

-- fragment: index_columns
change, memory_id, agent_id, thread, kind, category, project, standing, event_time, created_at, expires_at, valid_from,
valid_to, retired_at, digest, model, terms, vectors

-- name: load_index
-- plan: anew
-- answer: binary
-- A user's rows of the index in id order, from an id on.
SELECT {index_columns} FROM memory_index
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id > :after_id
ORDER BY memory_id LIMIT :limit

-- fragment: watermark
SELECT coalesce(
    (SELECT c.change FROM index_changes AS c WHERE c.tenant_id = :tenant AND c.counter = :counter),
    -- Nothing changed since there are counters.
    (SELECT max(i.change) FROM memory_index AS i WHERE i.tenant_id = :tenant AND i.user_id = :user_id),
    0
) AS watermark

-- name: index_watermark
-- Up to which change everything is seen.
{watermark}

-- name: index_marks
-- Which states of some of a user's memories the index has.
SELECT memory_id, change, digest FROM memory_index
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id {among_ids}

-- name: index_newest
-- Which states the index has of those of a user's memories that changed last, up to a change.
SELECT memory_id, change, digest FROM memory_index
WHERE tenant_id = :tenant AND user_id = :user_id AND change <= :until
ORDER BY change DESC, memory_id DESC LIMIT :limit

-- name: index_size
-- How many rows of the index are a user's.
SELECT count(*) FROM memory_index WHERE tenant_id = :tenant AND user_id = :user_id

-- name: index_largest
-- How many rows of the index the user has who has most.
SELECT coalesce(max(found.size), 0) FROM (
    SELECT count(*) AS size FROM memory_index WHERE tenant_id = :tenant GROUP BY user_id
) AS found

-- name: next_change
-- A number for what this transaction changes in the index. Nobody else gets one of the counter before it ends.
INSERT INTO index_changes (tenant_id, counter, change) VALUES (:tenant, :counter, :first)
ON CONFLICT (tenant_id, counter) DO UPDATE SET change = index_changes.change + 1
RETURNING change

-- name: list_outdated
-- Some rows with vectors of another model, but for those of some models.
SELECT user_id, memory_id FROM memory_index
WHERE tenant_id = :tenant AND model NOT IN ('', :model) AND NOT model {among_ids} ORDER BY user_id, memory_id LIMIT :limit

-- name: follow_index
-- plan: by index
-- The watermark beside each of a user's rows that changed since, in the order of their changes; alone where none did.
SELECT watermark, changed.* FROM ({watermark}) AS seen LEFT JOIN (
    SELECT {index_columns} FROM memory_index
    WHERE tenant_id = :tenant AND user_id = :user_id AND (change, memory_id) > (:since, :after_id)
    ORDER BY change, memory_id LIMIT :limit
) AS changed ON TRUE
ORDER BY change, memory_id

-- name: move_index
-- Put a memory's row of the index among those of another user, who has the memory now.
UPDATE memory_index SET user_id = :user_id
WHERE tenant_id = :tenant AND memory_id = :memory_id AND user_id <> :user_id

-- name: list_unindexed
-- Memories that have no row in the index, since they are from before there was one.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND NOT EXISTS (
    SELECT 1 FROM memory_index AS i
    WHERE i.tenant_id = :tenant AND i.user_id = memories.user_id AND i.memory_id = memories.id
)
ORDER BY id LIMIT :limit

-- name: index_users
-- Users that have rows in the index, one step of the index each, up to a bound.
WITH RECURSIVE found (user_id) AS (
    SELECT min(user_id) FROM memory_index WHERE tenant_id = :tenant
    UNION ALL
    SELECT (SELECT min(i.user_id) FROM memory_index AS i WHERE i.tenant_id = :tenant AND i.user_id > found.user_id)
    FROM found WHERE found.user_id IS NOT NULL
)
SELECT user_id FROM found WHERE user_id IS NOT NULL LIMIT :limit

-- name: newest_users
-- Whose memories are the newest, among so many of them.
SELECT user_id FROM (
    SELECT user_id, created_at FROM memories WHERE tenant_id = :tenant AND status = 'active'
    ORDER BY created_at DESC, id DESC LIMIT :rows
) AS newest
GROUP BY user_id ORDER BY max(created_at) DESC, user_id LIMIT :limit

-- name: list_entries
-- The entries of a user's companion, in whatever state.
SELECT id FROM memories WHERE tenant_id = :tenant AND user_id = :user_id AND governed_by = 'companion'

-- name: count_index
-- How many rows the index has for a tenant, how many wait for vectors, how many have those of another model, how many
-- those of one of some models, and how many have none since the model refused their texts; of what is gone there are
-- none either.
SELECT count(*), coalesce(sum(CASE WHEN model = '' THEN 1 ELSE 0 END), 0),
    coalesce(sum(CASE WHEN model NOT IN ('', :model) AND NOT model {among_ids} THEN 1 ELSE 0 END), 0),
    coalesce(sum(CASE WHEN model {among_ids} THEN 1 ELSE 0 END), 0),
    coalesce(sum(CASE WHEN model = :model AND vectors IS NULL AND standing < 2 THEN 1 ELSE 0 END), 0)
FROM memory_index WHERE tenant_id = :tenant

-- name: any_waiting
-- Whether a tenant has rows that wait for vectors.
SELECT 1 FROM memory_index WHERE tenant_id = :tenant AND model = '' LIMIT 1

-- name: latest_claim
-- Until when rows that wait for vectors are taken, the last of them.
SELECT max(claimed_until) FROM memory_index WHERE tenant_id = :tenant AND model = ''

-- name: list_waiting
-- The newest rows that wait for vectors and that nobody has taken, with how many bytes their texts have.
SELECT i.user_id, i.memory_id, octet_length(m.content)
FROM (
    SELECT user_id, memory_id, claimed_until FROM memory_index
    WHERE tenant_id = :tenant AND model = '' AND claimed_until <= :now
    ORDER BY claimed_until, memory_id DESC LIMIT :limit
) AS i
JOIN memories AS m ON m.id = i.memory_id
WHERE m.tenant_id = :tenant
ORDER BY i.claimed_until, i.memory_id DESC

-- name: list_short_waiting
-- The same of those whose texts have at most so many bytes: what is longer is passed over.
SELECT i.user_id, i.memory_id, octet_length(m.content)
FROM memory_index AS i
JOIN memories AS m ON m.id = i.memory_id
WHERE i.tenant_id = :tenant AND m.tenant_id = :tenant AND i.model = '' AND i.claimed_until <= :now
    AND octet_length(m.content) <= :longest
ORDER BY i.claimed_until, i.memory_id DESC LIMIT :limit

-- name: any_of_models
-- Whether a tenant has rows with vectors of some models.
SELECT 1 FROM memory_index WHERE tenant_id = :tenant AND model {among_ids} LIMIT 1

-- name: claim_row
-- Take a row of the index for a while, or give it back.
UPDATE memory_index SET claimed_until = :until
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id = :memory_id

-- name: find_index_model
-- scope: global
-- The model that a tenant's vectors are made with.
SELECT index_model FROM tenants WHERE id = :tenant

-- name: set_index_model
-- scope: global
-- Note the model that a tenant's vectors are made with.
UPDATE tenants SET index_model = :model WHERE id = :tenant

-- name: turn_before
-- The message before another in its session.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND session_id = :session_id AND session_id <> '' AND id < :id
    AND agent_id = :agent_id AND kind = 'chat_message' AND status IN ('active', 'archived')
ORDER BY id DESC LIMIT 1

-- name: list_followers
-- plan: by index
-- What may be embedded with the words of some messages: whatever was said after each, up to the next message that counts
-- or is one of them. What is one of them, or has no words left, is not told.
WITH messages AS (
    SELECT m.user_id, m.agent_id, m.session_id, m.id, (
        SELECT n.id FROM memories AS n
        WHERE n.tenant_id = :tenant AND n.user_id = m.user_id AND n.session_id = m.session_id AND n.session_id <> ''
            AND n.id > m.id AND n.agent_id = m.agent_id AND n.kind = 'chat_message'
            AND (n.status IN ('active', 'archived') OR n.id {among_ids})
        ORDER BY n.id LIMIT 1
    ) AS next_id
    FROM memories AS m
    WHERE m.tenant_id = :tenant AND m.id {among_ids} AND m.session_id <> '' AND m.kind = 'chat_message'
)
SELECT f.user_id, f.id FROM messages JOIN memories AS f
    ON f.tenant_id = :tenant AND f.user_id = messages.user_id AND f.session_id = messages.session_id
    AND f.session_id <> '' AND f.id > messages.id AND f.id <= coalesce(messages.next_id, '~')
WHERE f.agent_id = messages.agent_id AND f.kind IN ('chat_message', 'tool_output') AND f.anonymized_at IS NULL
    AND NOT f.id {among_ids}
ORDER BY f.user_id, f.id

-- name: is_indexed_as
-- Whether the index has a memory with that text, and others may be embedded with it.
SELECT 1 FROM memory_index
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id = :memory_id AND digest = :digest AND standing < 2

-- name: insert_tool_output
-- Keep a whole payload under its memory's id.
INSERT INTO tool_outputs (tenant_id, memory_id, content) VALUES (:tenant, :memory_id, :content)
ON CONFLICT DO NOTHING

-- name: get_tool_output
-- The whole payload of a memory that shows a part of it.
SELECT content FROM tool_outputs WHERE tenant_id = :tenant AND memory_id = :memory_id

-- fragment: document_columns
user_id, agent_id, id, title, media_type, content, chunks, created_at, updated_at

-- name: get_document
-- One document of exactly that owner.
SELECT {document_columns} FROM documents
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND id = :id

-- name: find_document
-- The document of that title and exactly that owner. The index knows how titles begin.
SELECT {document_columns} FROM documents
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id
    AND substr(title, 1, 64) = substr(:title, 1, 64) AND title = :title
ORDER BY created_at, id LIMIT 1

-- name: find_document_of
-- A document of a slice of owners.
SELECT {document_columns} FROM documents
WHERE tenant_id = :tenant AND id = :id AND {of_slice}
ORDER BY user_id, agent_id LIMIT 1

-- name: list_documents
-- A page of the documents of a slice, in id order, with so much of their texts.
SELECT user_id, agent_id, id, title, media_type, substr(content, 1, :characters), chunks, created_at, updated_at
FROM documents
WHERE tenant_id = :tenant AND (id, user_id, agent_id) > (:after_id, :after_user, :after_agent) AND {of_slice}
ORDER BY id, user_id, agent_id LIMIT :limit

-- name: latest_documents
-- plan: anew
-- A page of the documents of a slice without their texts, the last ids first. The ids come from the index alone: to read
-- a row is to read its text.
SELECT d.user_id, d.agent_id, d.id, d.title, d.media_type, '', d.chunks, d.created_at, d.updated_at
FROM (
    SELECT user_id, agent_id, id FROM documents
    WHERE tenant_id = :tenant AND (id, user_id, agent_id) < (:before_id, :before_user, :before_agent) AND {of_slice}
    ORDER BY id DESC, user_id DESC, agent_id DESC LIMIT :limit
) AS found JOIN documents AS d
    ON d.tenant_id = :tenant AND d.user_id = found.user_id AND d.agent_id = found.agent_id AND d.id = found.id
ORDER BY d.id DESC, d.user_id DESC, d.agent_id DESC

-- name: put_document
-- Write a document, over the one of that id.
INSERT INTO documents (tenant_id, {document_columns})
VALUES (:tenant, :user_id, :agent_id, :id, :title, :media_type, :content, :chunks, :created_at, :updated_at)
ON CONFLICT (tenant_id, user_id, agent_id, id) DO UPDATE SET
    title = excluded.title, media_type = excluded.media_type, content = excluded.content, chunks = excluded.chunks,
    updated_at = excluded.updated_at

-- name: erase_document
-- Remove a document; its chunks are memories, and go as those do.
DELETE FROM documents WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND id = :id

-- name: erase_documents
-- Remove the documents of a slice.
DELETE FROM documents WHERE tenant_id = :tenant AND {of_slice}

-- name: chunks_of
-- The active chunks of a document, in their order.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND status = 'active'
    AND source_ref = :document_id AND kind = 'document_chunk'
ORDER BY id

-- name: count_memories
-- How many rows a tenant has, of every status.
SELECT count(*) FROM memories WHERE tenant_id = :tenant

-- name: count_index_rows
-- How many of a tenant's memories are in the index.
SELECT count(*) FROM memory_index AS i JOIN memories AS m ON m.tenant_id = i.tenant_id AND m.id = i.memory_id
WHERE i.tenant_id = :tenant

-- name: count_created
-- How many of a tenant's rows have their `created` event.
SELECT count(DISTINCT memory_id) FROM memory_events
WHERE tenant_id = :tenant AND event_type = 'created' AND memory_id LIKE 'mem!_%' ESCAPE '!'

-- name: count_orphan_events
-- Events whose memory is gone; those that name it in another way tell of what was erased.
SELECT count(*) FROM memory_events AS e
WHERE e.tenant_id = :tenant AND e.memory_id LIKE 'mem!_%' ESCAPE '!'
    AND NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.tenant_id = e.tenant_id AND m.id = e.memory_id)

-- name: count_orphan_tokens
-- Tokens whose memory is gone.
SELECT count(*) FROM memory_tokens AS t
WHERE t.tenant_id = :tenant
    AND NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.tenant_id = t.tenant_id AND m.id = t.memory_id)

-- name: insert_index
-- A new memory's row of the index.
INSERT INTO memory_index (
    tenant_id, user_id, memory_id, change, agent_id, thread, kind, category, project, standing, event_time, created_at,
    expires_at, valid_from, valid_to, retired_at, digest, model, claimed_until, terms, vectors
) VALUES (
    :tenant, :user_id, :memory_id, :change, :agent_id, :thread, :kind, :category, :project, :standing, :event_time,
    :created_at, :expires_at, :valid_from, :valid_to, :retired_at, :digest, '', 0, :terms, NULL
)
ON CONFLICT DO NOTHING

-- name: replace_index
-- A changed memory's row of the index. Vectors stay where the text that they stand for did. Tells whose they are.
UPDATE memory_index SET
    change = :change, agent_id = :agent_id, thread = :thread, kind = :kind, category = :category,
    project = :project, standing = :standing, event_time = :event_time, expires_at = :expires_at,
    valid_from = :valid_from, valid_to = :valid_to, retired_at = :retired_at, terms = :terms,
    model = CASE WHEN digest = :digest THEN model ELSE '' END,
    vectors = CASE WHEN digest = :digest THEN vectors END,
    claimed_until = CASE WHEN digest = :digest THEN claimed_until ELSE 0 END,
    digest = :digest
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id = :memory_id
RETURNING model

-- name: save_vectors
-- What a model made of a text, unless the text changed meanwhile.
UPDATE memory_index SET
    change = :change, model = :model, vectors = :vectors, terms = :terms, digest = :digest, claimed_until = 0
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id = :memory_id AND digest IN (0, :digest)

-- name: renew_index
-- Name another model for vectors that are the same, unless the text changed meanwhile. It is no change for who has read them.
UPDATE memory_index SET model = :model, claimed_until = 0
WHERE tenant_id = :tenant AND user_id = :user_id AND memory_id = :memory_id AND digest = :digest AND model {among_ids}

-- name: save_tokens
-- What a model made of the tokens of a memory whose vectors were just saved or renewed.
INSERT INTO memory_tokens (tenant_id, memory_id, model, tokens) VALUES (:tenant, :memory_id, :model, :tokens)
ON CONFLICT (tenant_id, memory_id) DO UPDATE SET model = excluded.model, tokens = excluded.tokens

-- name: get_tokens
-- answer: binary
-- What a model made of the tokens of some memories.
SELECT memory_id, tokens FROM memory_tokens
WHERE tenant_id = :tenant AND memory_id {among_ids} AND model = :model
