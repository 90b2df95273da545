-- What the dashboard needs: who is signed in, and what each memory was recalled for.

-- A one-time link or a session, by the hash of its token. It stands for an API key, and ends with it.
CREATE TABLE sign_ins (
    token_hash TEXT NOT NULL PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `user_id` and `agent_id` asked. The newest few of each memory are kept.
CREATE TABLE recalls (
    tenant_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    source TEXT NOT NULL,
    query TEXT NOT NULL,
    place INTEGER NOT NULL,
    score REAL NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, at, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX recalls_of_user ON recalls (tenant_id, user_id);
