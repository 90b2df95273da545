-- Receipts, the ledger, and what erasure removes, counts and looks for; store/tables.py says which statement is whose.

-- fragment: receipt_columns
id, kind, status, request, asked_by, salt, subject, counts, verification, remains, started_at, due_at, finished_at

-- fragment: of_slice
(CAST(:user_id AS text) IS NULL OR user_id = :user_id) AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)

-- name: insert_receipt
-- The intention to erase, before anything is.
INSERT INTO receipts (tenant_id, {receipt_columns})
VALUES (
    :tenant, :id, :kind, :status, :request, :asked_by, :salt, :subject, :counts, :verification, :remains, :started_at,
    :due_at, :finished_at
)
ON CONFLICT DO NOTHING

-- name: save_receipt
-- How far an erasure is.
UPDATE receipts SET
    status = :status, request = :request, counts = :counts, verification = :verification, remains = :remains,
    finished_at = :finished_at
WHERE tenant_id = :tenant AND id = :id

-- name: get_receipt
-- One receipt.
SELECT {receipt_columns} FROM receipts WHERE tenant_id = :tenant AND id = :id

-- name: list_receipts
-- The receipts of a tenant, newest first.
SELECT {receipt_columns} FROM receipts
WHERE tenant_id = :tenant AND id < :before_id ORDER BY id DESC LIMIT :limit

-- name: list_unfinished
-- Erasures that were begun, or are due, and are not done, oldest first.
SELECT {receipt_columns} FROM receipts
WHERE tenant_id = :tenant AND status <> 'done' AND (status <> 'due' OR due_at <= :now) ORDER BY due_at, id

-- name: insert_erased
-- One line of the ledger.
INSERT INTO erasures (tenant_id, kind, id, salt, receipt_id, erased_at)
VALUES (:tenant, :kind, :id, :salt, :receipt_id, :erased_at)
ON CONFLICT DO NOTHING

-- name: drop_erased
-- Remove the lines of the ledger that one erasure wrote.
DELETE FROM erasures WHERE tenant_id = :tenant AND receipt_id = :receipt_id

-- name: list_erased
-- Lines of the ledger that one erasure wrote, in the order of their ids.
SELECT kind, id, salt, receipt_id, erased_at FROM erasures
WHERE tenant_id = :tenant AND receipt_id = :receipt_id AND kind = :kind AND id > :after_id ORDER BY id LIMIT :limit

-- name: list_erased_of_kind
-- All lines of the ledger of one kind, for what is kept by a salted hash.
SELECT kind, id, salt, receipt_id, erased_at FROM erasures WHERE tenant_id = :tenant AND kind = :kind ORDER BY id

-- fragment: may_quote
user_id IN (SELECT '' UNION SELECT m.user_id FROM memories AS m WHERE m.tenant_id = :tenant AND m.id {among_ids})
    OR EXISTS (SELECT 1 FROM memories AS m WHERE m.tenant_id = :tenant AND m.id {among_ids} AND m.user_id = '')

-- name: find_erased
-- The lines of the ledger for some ids.
SELECT kind, id, salt, receipt_id, erased_at FROM erasures
WHERE tenant_id = :tenant AND kind = :kind AND id {among_ids} ORDER BY id

-- name: erase_memories
-- Remove some memories.
DELETE FROM memories WHERE tenant_id = :tenant AND id {among_ids}

-- name: erase_events
-- Remove the history of some memories.
DELETE FROM memory_events WHERE tenant_id = :tenant AND memory_id {among_ids}

-- name: erase_index
-- Remove some memories from the index; before the memories themselves, which say whose they are.
DELETE FROM memory_index
WHERE tenant_id = :tenant AND memory_id {among_ids} AND user_id IN (
    SELECT m.user_id FROM memories AS m WHERE m.tenant_id = :tenant AND m.id {among_ids}
)

-- name: erase_tokens
-- Remove what was made of the tokens of some memories. After their rows of the index were changed or removed: whoever saves
-- both begins with those, too, so that nothing is saved in between.
DELETE FROM memory_tokens WHERE tenant_id = :tenant AND memory_id {among_ids}

-- name: erase_tool_outputs
-- Remove whole payloads of some memories.
DELETE FROM tool_outputs WHERE tenant_id = :tenant AND memory_id {among_ids}

-- name: erase_recalls
-- Remove the recalls of some memories.
DELETE FROM recalls WHERE tenant_id = :tenant AND memory_id {among_ids}

-- name: purge_doubts_of_memories
-- Remove doubts about some facts.
DELETE FROM doubts WHERE tenant_id = :tenant AND (fact_id {among_ids} OR other_id {among_ids})

-- name: purge_jobs_of_memories
-- Remove jobs that name some memories: what they carry may quote them. Only their owners' can, and nobody's.
DELETE FROM jobs WHERE tenant_id = :tenant AND ({may_quote}) AND EXISTS (
    SELECT 1 FROM {each_id}
    WHERE {position}(jobs.key || ' ' || payload || ' ' || coalesce(error, '') || ' ' || coalesce(result, ''), {one_id}) > 0
)

-- name: purge_turn_events_of_memories
-- Remove the events of turns in whose session some memories were said: these may quote them. What tools returned is in no
-- event.
DELETE FROM turn_events WHERE tenant_id = :tenant AND turn_id IN (
    SELECT t.id FROM turns AS t JOIN memories AS m
        ON m.tenant_id = t.tenant_id AND m.user_id = t.user_id AND m.session_id = t.session_id
    WHERE t.tenant_id = :tenant AND m.session_id <> '' AND m.kind <> 'tool_output' AND m.id {among_ids}
)

-- name: purge_turns_of_memories
-- Remove those turns, unless they are still running.
DELETE FROM turns WHERE tenant_id = :tenant AND status <> 'running' AND id IN (
    SELECT t.id FROM turns AS t JOIN memories AS m
        ON m.tenant_id = t.tenant_id AND m.user_id = t.user_id AND m.session_id = t.session_id
    WHERE t.tenant_id = :tenant AND m.session_id <> '' AND m.kind <> 'tool_output' AND m.id {among_ids}
)

-- fragment: sources_of_memories
(SELECT source_ref FROM memories WHERE tenant_id = :tenant AND source_ref LIKE 'turn!_%' ESCAPE '!' AND id {among_ids})

-- fragment: may_have_words
event NOT IN (
    'turn.started', 'memory.injected', 'context.compressed', 'tool.completed', 'agent.completed', 'validator.verdict',
    'turn.completed'
)

-- name: empty_turn_events_of_memories
-- Leave of the events of turns which some memories come from that there were some: these may quote them, unless they are
-- known to hold nothing but ids, names and numbers.
UPDATE turn_events SET data = :data WHERE tenant_id = :tenant AND turn_id IN {sources_of_memories} AND {may_have_words}

-- name: empty_turns_of_memories
-- Take the answers from those turns, which are otherwise kept: what they brought besides goes on naming them.
UPDATE turns SET answer = NULL WHERE tenant_id = :tenant AND status <> 'running' AND id IN {sources_of_memories}

-- name: purge_idempotency_of_memories
-- Forget remembered answers that quote some memories. Only their owners' can, and nobody's.
DELETE FROM idempotency_keys WHERE tenant_id = :tenant AND ({may_quote}) AND EXISTS (
    SELECT 1 FROM {each_id} WHERE {position}(route || ' ' || response, {one_id}) > 0
)

-- name: purge_sweeps_of_memories
-- Drop a sweeper's report that names some memories; where it stood at one, it goes on from just before.
UPDATE sweeps SET
    report = CASE WHEN EXISTS (SELECT 1 FROM {each_id} WHERE {position}(report, {one_id}) > 0) THEN NULL ELSE report END,
    recomputed_after = CASE WHEN recomputed_after {among_ids}
        THEN substr(recomputed_after, 1, length(recomputed_after) - 1) ELSE recomputed_after END
WHERE tenant_id = :tenant AND (
    recomputed_after {among_ids}
    OR EXISTS (SELECT 1 FROM {each_id} WHERE {position}(report, {one_id}) > 0)
)

-- name: count_named
-- How many rows of each table name one of some memories.
SELECT 'memories', count(*) FROM memories
WHERE tenant_id = :tenant AND (id {among_ids} OR source_ref {among_ids} OR superseded_by {among_ids})
UNION ALL SELECT 'memory_index', count(*) FROM memory_index WHERE tenant_id = :tenant AND memory_id {among_ids}
UNION ALL SELECT 'memory_tokens', count(*) FROM memory_tokens WHERE tenant_id = :tenant AND memory_id {among_ids}
UNION ALL SELECT 'memory_events', count(*) FROM memory_events WHERE tenant_id = :tenant AND memory_id {among_ids}
UNION ALL SELECT 'tool_outputs', count(*) FROM tool_outputs WHERE tenant_id = :tenant AND memory_id {among_ids}
UNION ALL SELECT 'recalls', count(*) FROM recalls WHERE tenant_id = :tenant AND memory_id {among_ids}
UNION ALL SELECT 'doubts', count(*) FROM doubts WHERE tenant_id = :tenant AND (fact_id {among_ids} OR other_id {among_ids})
UNION ALL SELECT 'jobs', count(*) FROM jobs WHERE tenant_id = :tenant AND EXISTS (
    SELECT 1 FROM {each_id}
    WHERE {position}(jobs.key || ' ' || payload || ' ' || coalesce(error, '') || ' ' || coalesce(result, ''), {one_id}) > 0
)
UNION ALL SELECT 'idempotency_keys', count(*) FROM idempotency_keys WHERE tenant_id = :tenant AND EXISTS (
    SELECT 1 FROM {each_id} WHERE {position}(route || ' ' || response, {one_id}) > 0
)
UNION ALL SELECT 'sweeps', count(*) FROM sweeps WHERE tenant_id = :tenant AND EXISTS (
    SELECT 1 FROM {each_id} WHERE {position}(coalesce(report, '') || ' ' || coalesce(recomputed_after, ''), {one_id}) > 0
)

-- name: purge_doubts_of_owner
-- Remove doubts about the facts of a slice of owners.
DELETE FROM doubts WHERE tenant_id = :tenant AND {of_slice}

-- name: purge_keys_of_owner
-- Remove the API keys that are bound to a user.
DELETE FROM api_keys WHERE tenant_id = :tenant AND user_id = :user_id AND user_id <> ''

-- name: purge_keys
-- Remove all API keys of a tenant.
DELETE FROM api_keys WHERE tenant_id = :tenant

-- name: purge_events
-- Remove the whole history of a tenant, also of memories that are gone.
DELETE FROM memory_events WHERE tenant_id = :tenant

-- name: purge_index
-- Remove all of a tenant's rows of the index.
DELETE FROM memory_index WHERE tenant_id = :tenant

-- name: purge_tokens
-- Remove what was made of the tokens of all of a tenant's memories.
DELETE FROM memory_tokens WHERE tenant_id = :tenant

-- name: purge_index_changes
-- Remove the counters of a tenant's index.
DELETE FROM index_changes WHERE tenant_id = :tenant

-- name: purge_tool_outputs
-- Remove all whole payloads of a tenant.
DELETE FROM tool_outputs WHERE tenant_id = :tenant

-- name: purge_policies
-- Remove the policies of a tenant.
DELETE FROM policies WHERE tenant_id = :tenant

-- name: purge_sweeps
-- Remove what a tenant's sweeper noted.
DELETE FROM sweeps WHERE tenant_id = :tenant

-- name: forget_policy_actor
-- Leave out who set a policy.
UPDATE policies SET actor = NULL WHERE tenant_id = :tenant AND actor = :user_id

-- name: revoke_all_keys
-- End every key of a tenant that was not revoked before.
UPDATE api_keys SET revoked_at = :at WHERE tenant_id = :tenant AND revoked_at IS NULL

-- name: forget_actor
-- Leave out who did what among events of memories that are somebody else's.
UPDATE memory_events SET actor = NULL WHERE tenant_id = :tenant AND actor = :user_id

-- fragment: few_of_user
UNION ALL SELECT 'documents', count(*) FROM documents
WHERE tenant_id = :tenant AND user_id = :user_id AND created_at <= :until
UNION ALL SELECT 'idempotency_keys', count(*) FROM idempotency_keys
WHERE tenant_id = :tenant AND user_id = :user_id AND created_at <= :until
UNION ALL SELECT 'jobs', count(*) FROM jobs
WHERE tenant_id = :tenant AND user_id = :user_id AND created_at <= :until
UNION ALL SELECT 'recalls', count(*) FROM recalls
WHERE tenant_id = :tenant AND user_id = :user_id AND at <= :until
UNION ALL SELECT 'doubts', count(*) FROM doubts
WHERE tenant_id = :tenant AND user_id = :user_id AND created_at <= :until
UNION ALL SELECT 'turns', count(*) FROM turns
WHERE tenant_id = :tenant AND user_id = :user_id AND created_at <= :until
UNION ALL SELECT 'turn_events', count(*) FROM turn_events
WHERE tenant_id = :tenant AND created_at <= :until AND turn_id IN (
    SELECT id FROM turns WHERE tenant_id = :tenant AND user_id = :user_id
)
UNION ALL SELECT 'policies', count(*) FROM policies
WHERE tenant_id = :tenant AND actor = :user_id AND created_at <= :until
UNION ALL SELECT 'sign_ins', count(*) FROM sign_ins
WHERE tenant_id = :tenant AND user_id = :user_id AND created_at <= :until
UNION ALL SELECT 'api_keys', count(*) FROM api_keys
WHERE tenant_id = :tenant AND user_id = :user_id AND created_at <= :until

-- name: count_of_user
-- How many rows of each table are a user's, of those written until a moment.
SELECT 'memories', count(*) FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND created_at <= :until
UNION ALL SELECT 'memory_index', count(*) FROM memory_index
WHERE tenant_id = :tenant AND user_id = :user_id AND created_at <= :until
UNION ALL SELECT 'memory_events', count(*) FROM memory_events
WHERE tenant_id = :tenant AND created_at <= :until AND (actor = :user_id OR memory_id IN (
    SELECT id FROM memories WHERE tenant_id = :tenant AND user_id = :user_id AND created_at <= :until
))
UNION ALL SELECT 'tool_outputs', count(*) FROM tool_outputs AS o
WHERE tenant_id = :tenant AND EXISTS (
    SELECT 1 FROM memories AS m
    WHERE m.tenant_id = :tenant AND m.id = o.memory_id AND m.user_id = :user_id AND m.created_at <= :until
)
{few_of_user}

-- name: count_all_of_user
-- The same, whenever they were written, but for the history: of what there is most, no row is read but its entry of an
-- index.
SELECT 'memories', count(*) FROM memories WHERE tenant_id = :tenant AND user_id = :user_id
UNION ALL SELECT 'memory_index', count(*) FROM memory_index WHERE tenant_id = :tenant AND user_id = :user_id
UNION ALL SELECT 'tool_outputs', count(*) FROM tool_outputs AS o
WHERE tenant_id = :tenant AND EXISTS (
    SELECT 1 FROM memories AS m WHERE m.tenant_id = :tenant AND m.id = o.memory_id AND m.user_id = :user_id
)
{few_of_user}

-- name: count_history_of_user
-- How many events are of a user's memories, or done by the user. No index says who did what: the tenant's are all read.
SELECT count(*) FROM memory_events
WHERE tenant_id = :tenant AND (actor = :user_id OR memory_id IN (
    SELECT id FROM memories WHERE tenant_id = :tenant AND user_id = :user_id
))

-- name: count_memories_up_to
-- How many memories a tenant has, up to a number.
SELECT count(*) FROM (SELECT 1 FROM memories WHERE tenant_id = :tenant LIMIT :limit) AS found

-- name: list_users
-- The users that anything belongs to or was done by.
SELECT user_id FROM memories WHERE tenant_id = :tenant
UNION SELECT user_id FROM memory_index WHERE tenant_id = :tenant
UNION SELECT actor FROM memory_events WHERE tenant_id = :tenant AND actor IS NOT NULL
UNION SELECT user_id FROM documents WHERE tenant_id = :tenant
UNION SELECT user_id FROM idempotency_keys WHERE tenant_id = :tenant
UNION SELECT user_id FROM jobs WHERE tenant_id = :tenant
UNION SELECT user_id FROM recalls WHERE tenant_id = :tenant
UNION SELECT user_id FROM doubts WHERE tenant_id = :tenant
UNION SELECT user_id FROM turns WHERE tenant_id = :tenant
UNION SELECT actor FROM policies WHERE tenant_id = :tenant AND actor IS NOT NULL
UNION SELECT user_id FROM sign_ins WHERE tenant_id = :tenant
UNION SELECT user_id FROM api_keys WHERE tenant_id = :tenant

-- name: texts_of_owner
-- Some of the texts that a slice of owners has beside memories and documents.
SELECT request FROM turns WHERE tenant_id = :tenant AND {of_slice}
UNION ALL SELECT answer FROM turns WHERE tenant_id = :tenant AND {of_slice}
UNION ALL SELECT error FROM turns WHERE tenant_id = :tenant AND {of_slice}
UNION ALL SELECT data FROM turn_events
WHERE tenant_id = :tenant AND turn_id IN (SELECT id FROM turns WHERE tenant_id = :tenant AND {of_slice})
UNION ALL SELECT payload FROM jobs WHERE tenant_id = :tenant AND {of_slice}
UNION ALL SELECT error FROM jobs WHERE tenant_id = :tenant AND {of_slice}
UNION ALL SELECT result FROM jobs WHERE tenant_id = :tenant AND {of_slice}
UNION ALL SELECT reason FROM doubts WHERE tenant_id = :tenant AND {of_slice}
UNION ALL SELECT query FROM recalls WHERE tenant_id = :tenant AND {of_slice}
LIMIT :limit

-- name: scan_naming
-- Memories that name another one, in id order: what they name.
SELECT id, kind, governed_by, source_ref, superseded_by, meta FROM memories
WHERE tenant_id = :tenant AND id > :after_id
    AND (source_ref LIKE 'mem!_%' ESCAPE '!' OR superseded_by IS NOT NULL OR meta LIKE '%mem!_%' ESCAPE '!')
ORDER BY id LIMIT :limit

-- name: scan_naming_events
-- Events whose payload names a memory, in their order.
SELECT seq, payload FROM memory_events
WHERE tenant_id = :tenant AND seq > :after_seq AND payload LIKE '%mem!_%' ESCAPE '!' ORDER BY seq LIMIT :limit

-- name: scan_naming_turns
-- Events of turns that name a memory, in their order.
SELECT turn_id, seq, data FROM turn_events
WHERE tenant_id = :tenant AND (turn_id, seq) > (:after_turn, :after_seq)
    AND (data LIKE '%mem!_%' ESCAPE '!' OR data LIKE '%tout!_%' ESCAPE '!')
ORDER BY turn_id, seq LIMIT :limit

-- name: empty_turn_event
-- Leave of an event of a turn that there was one, unless `empty_turn_events` does.
UPDATE turn_events SET data = :data
WHERE tenant_id = :tenant AND turn_id = :turn_id AND seq = :seq AND NOT ({may_have_words})

-- name: empty_turn_events
-- Leave of the events of a turn that may quote what it was told that there were some.
UPDATE turn_events SET data = :data WHERE tenant_id = :tenant AND turn_id = :turn_id AND {may_have_words}

-- name: empty_turn
-- Take the answer from a turn, unless it is still running.
UPDATE turns SET answer = NULL WHERE tenant_id = :tenant AND id = :turn_id AND status <> 'running' AND answer IS NOT NULL

-- name: rewrite_event
-- Put another payload into an event.
UPDATE memory_events SET payload = :payload WHERE tenant_id = :tenant AND seq = :seq

-- name: find_text
-- The tables where a living row holds a piece of text, also as a word of our own or as a hash: what one user's tool
-- returned may be what another said.
SELECT 'memories' WHERE EXISTS (
    SELECT 1 FROM memories WHERE tenant_id = :tenant AND (
        {memory_holds_piece} OR kind LIKE :piece ESCAPE '!' OR status LIKE :piece ESCAPE '!'
        OR content_hash LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'memory_index' WHERE EXISTS (
    SELECT 1 FROM memory_index WHERE tenant_id = :tenant AND (
        user_id LIKE :piece ESCAPE '!' OR agent_id LIKE :piece ESCAPE '!' OR thread LIKE :piece ESCAPE '!'
        OR category LIKE :piece ESCAPE '!' OR project LIKE :piece ESCAPE '!' OR model LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'memory_events' WHERE EXISTS (
    SELECT 1 FROM memory_events WHERE tenant_id = :tenant AND (
        actor LIKE :piece ESCAPE '!' OR source LIKE :piece ESCAPE '!' OR payload LIKE :piece ESCAPE '!'
        OR event_type LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'tool_outputs' WHERE EXISTS (
    SELECT 1 FROM tool_outputs WHERE tenant_id = :tenant AND content LIKE :piece ESCAPE '!'
)
UNION ALL SELECT 'documents' WHERE EXISTS (
    SELECT 1 FROM documents WHERE tenant_id = :tenant AND (
        user_id LIKE :piece ESCAPE '!' OR agent_id LIKE :piece ESCAPE '!' OR id LIKE :piece ESCAPE '!'
        OR title LIKE :piece ESCAPE '!' OR media_type LIKE :piece ESCAPE '!' OR content LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'idempotency_keys' WHERE EXISTS (
    SELECT 1 FROM idempotency_keys WHERE tenant_id = :tenant AND (
        route LIKE :piece ESCAPE '!' OR key LIKE :piece ESCAPE '!' OR user_id LIKE :piece ESCAPE '!'
        OR response LIKE :piece ESCAPE '!' OR request_hash LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'jobs' WHERE EXISTS (
    SELECT 1 FROM jobs WHERE tenant_id = :tenant AND (
        key LIKE :piece ESCAPE '!' OR user_id LIKE :piece ESCAPE '!' OR agent_id LIKE :piece ESCAPE '!'
        OR acting LIKE :piece ESCAPE '!' OR payload LIKE :piece ESCAPE '!' OR error LIKE :piece ESCAPE '!'
        OR result LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'recalls' WHERE EXISTS (
    SELECT 1 FROM recalls WHERE tenant_id = :tenant AND (
        user_id LIKE :piece ESCAPE '!' OR agent_id LIKE :piece ESCAPE '!' OR source LIKE :piece ESCAPE '!'
        OR query LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'doubts' WHERE EXISTS (
    SELECT 1 FROM doubts WHERE tenant_id = :tenant AND (
        user_id LIKE :piece ESCAPE '!' OR agent_id LIKE :piece ESCAPE '!' OR reason LIKE :piece ESCAPE '!'
        OR judge LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'turns' WHERE EXISTS (
    SELECT 1 FROM turns WHERE tenant_id = :tenant AND (
        user_id LIKE :piece ESCAPE '!' OR agent_id LIKE :piece ESCAPE '!' OR session_id LIKE :piece ESCAPE '!'
        OR request LIKE :piece ESCAPE '!' OR answer LIKE :piece ESCAPE '!' OR error LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'turn_events' WHERE EXISTS (
    SELECT 1 FROM turn_events WHERE tenant_id = :tenant AND (
        data LIKE :piece ESCAPE '!' OR event LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'policies' WHERE EXISTS (
    SELECT 1 FROM policies WHERE tenant_id = :tenant AND (
        source LIKE :piece ESCAPE '!' OR actor LIKE :piece ESCAPE '!' OR rules LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'sweeps' WHERE EXISTS (
    SELECT 1 FROM sweeps WHERE tenant_id = :tenant AND report LIKE :piece ESCAPE '!'
)
UNION ALL SELECT 'receipts' WHERE EXISTS (
    SELECT 1 FROM receipts WHERE tenant_id = :tenant AND (
        asked_by LIKE :piece ESCAPE '!' OR counts LIKE :piece ESCAPE '!' OR verification LIKE :piece ESCAPE '!'
        OR remains LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'sign_ins' WHERE EXISTS (
    SELECT 1 FROM sign_ins WHERE tenant_id = :tenant AND (
        user_id LIKE :piece ESCAPE '!' OR agent_id LIKE :piece ESCAPE '!'
    )
)
UNION ALL SELECT 'api_keys' WHERE EXISTS (
    SELECT 1 FROM api_keys WHERE tenant_id = :tenant AND (
        user_id LIKE :piece ESCAPE '!' OR agent_id LIKE :piece ESCAPE '!' OR label LIKE :piece ESCAPE '!'
    )
)
