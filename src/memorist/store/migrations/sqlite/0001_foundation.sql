-- Tenants, keys, memories with their full text, the audit trail and remembered requests.

CREATE TABLE tenants (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    secret_hash TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    label TEXT,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;

-- An absent user, agent, session, project, category or name is '' rather than NULL, so that unique indexes hold.
CREATE TABLE memories (
    row_number INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    project TEXT NOT NULL,
    kind TEXT NOT NULL,
    category TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    content TEXT NOT NULL,
    excerpt TEXT,
    importance INTEGER NOT NULL,
    confidence REAL,
    relevance REAL,
    meta TEXT,
    source_ref TEXT,
    trust TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    dedup_key TEXT NOT NULL,
    status TEXT NOT NULL,
    retention TEXT NOT NULL,
    superseded_by TEXT,
    event_time INTEGER,
    valid_from INTEGER,
    valid_to INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    archive_at INTEGER,
    retention_expires_at INTEGER,
    expires_at INTEGER,
    deleted_at INTEGER,
    hard_delete_at INTEGER,
    anonymized_at INTEGER,
    access_count INTEGER NOT NULL,
    last_accessed_at INTEGER,
    UNIQUE (tenant_id, id)
) STRICT;

CREATE UNIQUE INDEX memories_text_once ON memories (tenant_id, user_id, agent_id, dedup_key) WHERE status = 'active';
CREATE UNIQUE INDEX memories_name_once ON memories (tenant_id, user_id, agent_id, name)
    WHERE status = 'active' AND name <> '';
-- Lists: by newest and, for named memories, also by importance; of one owner, of one user with any agent, of the tenant.
-- The owner's come first: without statistics SQLite takes the first index that seems as good as another.
CREATE INDEX memories_newest_of_owner ON memories (tenant_id, user_id, agent_id, status, created_at, id);
CREATE INDEX memories_named_newest_of_owner ON memories (tenant_id, user_id, agent_id, status, created_at, id)
    WHERE name <> '';
CREATE INDEX memories_important_of_owner ON memories
    (tenant_id, user_id, agent_id, status, importance, created_at, id) WHERE name <> '';
CREATE INDEX memories_newest_of_user ON memories (tenant_id, user_id, status, created_at, id);
CREATE INDEX memories_newest_of_tenant ON memories (tenant_id, status, created_at, id);
CREATE INDEX memories_named_newest_of_user ON memories (tenant_id, user_id, status, created_at, id)
    WHERE name <> '';
CREATE INDEX memories_named_newest_of_tenant ON memories (tenant_id, status, created_at, id) WHERE name <> '';
CREATE INDEX memories_important_of_user ON memories (tenant_id, user_id, status, importance, created_at, id)
    WHERE name <> '';
CREATE INDEX memories_important_of_tenant ON memories (tenant_id, status, importance, created_at, id)
    WHERE name <> '';

-- The text lives in memories alone; the index follows by trigger, inside the same transaction.
CREATE VIRTUAL TABLE memories_text USING fts5 (
    name, description, content, excerpt,
    content = 'memories', content_rowid = 'row_number', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO memories_text (memories_text, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER memories_text_insert AFTER INSERT ON memories BEGIN
    INSERT INTO memories_text (rowid, name, description, content, excerpt)
    VALUES (new.row_number, new.name, new.description, new.content, new.excerpt);
END;
CREATE TRIGGER memories_text_delete AFTER DELETE ON memories BEGIN
    INSERT INTO memories_text (memories_text, rowid, name, description, content, excerpt)
    VALUES ('delete', old.row_number, old.name, old.description, old.content, old.excerpt);
END;
CREATE TRIGGER memories_text_update AFTER UPDATE OF name, description, content, excerpt ON memories BEGIN
    INSERT INTO memories_text (memories_text, rowid, name, description, content, excerpt)
    VALUES ('delete', old.row_number, old.name, old.description, old.content, old.excerpt);
    INSERT INTO memories_text (rowid, name, description, content, excerpt)
    VALUES (new.row_number, new.name, new.description, new.content, new.excerpt);
END;

CREATE TABLE memory_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    source TEXT NOT NULL,
    actor TEXT,
    payload TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX memory_events_of_memory ON memory_events (tenant_id, memory_id, seq);

CREATE TABLE idempotency_keys (
    tenant_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    route TEXT NOT NULL,
    key TEXT NOT NULL,
    user_id TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    response TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, principal, route, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (tenant_id, expires_at);
