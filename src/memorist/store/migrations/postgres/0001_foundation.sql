-- Tenants, keys, memories with their full text, the audit trail and remembered requests.
-- `@tenant_table` makes the table before it hash-partitioned by tenant, or distributed where Citus is present;
-- `@reference_table` copies it to every node there. See store/postgres.py.

CREATE TABLE tenants (
    id text PRIMARY KEY,
    created_at bigint NOT NULL
);
-- @reference_table tenants

CREATE TABLE api_keys (
    id text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenants (id),
    secret_hash text NOT NULL UNIQUE,
    role text NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    label text,
    created_at bigint NOT NULL,
    revoked_at bigint,
    last_used_at bigint
);
-- @reference_table api_keys

-- An absent user, agent, session, project, category or name is '' rather than NULL, so that unique indexes hold.
CREATE TABLE memories (
    tenant_id text NOT NULL,
    id text COLLATE "C" NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    session_id text NOT NULL,
    project text NOT NULL,
    kind text NOT NULL,
    category text NOT NULL,
    name text NOT NULL,
    description text,
    content text NOT NULL,
    excerpt text,
    importance integer NOT NULL,
    confidence double precision,
    relevance double precision,
    meta text,
    source_ref text,
    trust text NOT NULL,
    content_hash text NOT NULL,
    dedup_key text NOT NULL,
    status text NOT NULL,
    retention text NOT NULL,
    superseded_by text,
    event_time bigint,
    valid_from bigint,
    valid_to bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    archive_at bigint,
    retention_expires_at bigint,
    expires_at bigint,
    deleted_at bigint,
    hard_delete_at bigint,
    anonymized_at bigint,
    access_count bigint NOT NULL,
    last_accessed_at bigint,
    text_index tsvector GENERATED ALWAYS AS (
        -- A tsvector takes at most 1 MB; of the longest texts, the beginning is indexed.
        to_tsvector(
            'simple',
            name || ' ' || coalesce(description, '') || ' ' || left(content, 60000) || ' ' || left(coalesce(excerpt, ''), 20000)
        )
    ) STORED,
    PRIMARY KEY (tenant_id, id)
);
-- @tenant_table memories

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
CREATE INDEX memories_text ON memories USING gin (text_index);

CREATE TABLE memory_events (
    tenant_id text NOT NULL,
    seq bigserial,
    memory_id text NOT NULL,
    event_type text NOT NULL,
    source text NOT NULL,
    actor text,
    payload text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, seq)
);
-- @tenant_table memory_events
CREATE INDEX memory_events_of_memory ON memory_events (tenant_id, memory_id, seq);

CREATE TABLE idempotency_keys (
    tenant_id text NOT NULL,
    principal text NOT NULL,
    route text NOT NULL,
    key text NOT NULL,
    user_id text NOT NULL,
    request_hash text NOT NULL,
    response text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, principal, route, key)
);
-- @tenant_table idempotency_keys
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (tenant_id, expires_at);
