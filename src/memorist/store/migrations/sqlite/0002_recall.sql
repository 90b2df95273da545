-- What recall searches, whole tool outputs, and documents. One narrow row a memory replaces the full-text table: FTS5
-- ranks over the whole file, so that a search of one user's memories would cost what everybody's do.

DROP TRIGGER memories_text_insert;
DROP TRIGGER memories_text_delete;
DROP TRIGGER memories_text_update;
DROP TABLE memories_text;

-- Clustered by user, so that one user's rows lie together. `change` grows with every change among a user's rows.
-- `terms` and `vectors` are packed (memorist/words.py, recall/index/vectors.py); `model` is '' while vectors are missing.
CREATE TABLE memory_index (
    tenant_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    change INTEGER NOT NULL,
    agent_id TEXT NOT NULL,
    thread TEXT NOT NULL,
    kind TEXT NOT NULL,
    category TEXT NOT NULL,
    project TEXT NOT NULL,
    standing INTEGER NOT NULL,
    event_time INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    valid_from INTEGER,
    valid_to INTEGER,
    retired_at INTEGER,
    digest INTEGER NOT NULL,
    model TEXT NOT NULL,
    claimed_until INTEGER NOT NULL,
    terms BLOB NOT NULL,
    vectors BLOB,
    PRIMARY KEY (tenant_id, user_id, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_index_by_change ON memory_index (tenant_id, user_id, change, memory_id);
CREATE INDEX memory_index_waiting ON memory_index (tenant_id, claimed_until) WHERE model = '';

-- The turn before a turn.
CREATE INDEX memories_of_session ON memories (tenant_id, user_id, session_id, id) WHERE session_id <> '';
-- The chunks of a document.
CREATE INDEX memories_of_document ON memories (tenant_id, user_id, agent_id, source_ref, id)
    WHERE kind = 'document_chunk';

-- Payloads that are longer than what a memory shows of them, under the memory's id.
CREATE TABLE tool_outputs (
    tenant_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (tenant_id, memory_id)
) STRICT;

CREATE TABLE documents (
    tenant_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    media_type TEXT NOT NULL,
    content TEXT NOT NULL,
    chunks INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id, agent_id, id)
) STRICT;
CREATE INDEX documents_by_title ON documents (tenant_id, user_id, agent_id, title);

-- The model that a tenant's vectors are made with; '' until its rows from before are in the index.
ALTER TABLE tenants ADD COLUMN index_model TEXT NOT NULL DEFAULT '';
