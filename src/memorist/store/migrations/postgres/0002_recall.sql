-- What recall searches, whole tool outputs, and documents. One narrow row a memory replaces the text index: ranking by
-- tsvector is not BM25, and both databases should find the same.

DROP INDEX memories_text;
ALTER TABLE memories DROP COLUMN text_index;

-- `change` is the transaction that wrote the row. `terms` and `vectors` are packed (memorist/words.py, recall/index/vectors.py);
-- `model` is '' while vectors are missing.
CREATE TABLE memory_index (
    tenant_id text NOT NULL,
    user_id text NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    change bigint NOT NULL,
    agent_id text NOT NULL,
    thread text NOT NULL,
    kind text NOT NULL,
    category text NOT NULL,
    project text NOT NULL,
    standing integer NOT NULL,
    event_time bigint NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    valid_from bigint,
    valid_to bigint,
    retired_at bigint,
    digest bigint NOT NULL,
    model text NOT NULL,
    claimed_until bigint NOT NULL,
    terms bytea NOT NULL,
    vectors bytea,
    PRIMARY KEY (tenant_id, user_id, memory_id)
);
-- @tenant_table memory_index
CREATE INDEX memory_index_by_change ON memory_index (tenant_id, user_id, change, memory_id);
CREATE INDEX memory_index_waiting ON memory_index (tenant_id, claimed_until) WHERE model = '';

-- The turn before a turn.
CREATE INDEX memories_of_session ON memories (tenant_id, user_id, session_id, id) WHERE session_id <> '';
-- The chunks of a document.
CREATE INDEX memories_of_document ON memories (tenant_id, user_id, agent_id, source_ref, id)
    WHERE kind = 'document_chunk';

-- Payloads that are longer than what a memory shows of them, under the memory's id.
CREATE TABLE tool_outputs (
    tenant_id text NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (tenant_id, memory_id)
);
-- @tenant_table tool_outputs

CREATE TABLE documents (
    tenant_id text NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    title text NOT NULL,
    media_type text NOT NULL,
    content text NOT NULL,
    chunks integer NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, user_id, agent_id, id)
);
-- @tenant_table documents
CREATE INDEX documents_by_title ON documents (tenant_id, user_id, agent_id, title);

-- The model that a tenant's vectors are made with; '' until its rows from before are in the index.
ALTER TABLE tenants ADD COLUMN index_model text NOT NULL DEFAULT '';
