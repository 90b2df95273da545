-- What the dashboard needs: who is signed in, and what each memory was recalled for.

-- A one-time link or a session, by the hash of its token. It stands for an API key, and ends with it.
CREATE TABLE sign_ins (
    token_hash text PRIMARY KEY,
    tenant_id text NOT NULL,
    kind text NOT NULL,
    key_id text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
-- @reference_table sign_ins

-- `user_id` and `agent_id` asked. The newest few of each memory are kept.
CREATE TABLE recalls (
    tenant_id text NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    source text NOT NULL,
    query text NOT NULL,
    place integer NOT NULL,
    score double precision NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, at, id)
);
-- @tenant_table recalls
CREATE INDEX recalls_of_user ON recalls (tenant_id, user_id);
