-- The audit log: who read, wrote and was refused what. Names and ids in it are salted hashes.

-- Where a tenant's chain ends, and where it begins since older entries were removed.
CREATE TABLE audit_heads (
    tenant_id TEXT NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL,
    hash TEXT NOT NULL,
    first INTEGER NOT NULL,
    anchor TEXT NOT NULL,
    salt TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The entries, each with a hash that covers that of the one before.
CREATE TABLE audit_log (
    tenant_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    door TEXT NOT NULL,
    route TEXT NOT NULL,
    outcome TEXT NOT NULL,
    key_id TEXT NOT NULL,
    role TEXT NOT NULL,
    user_hash TEXT NOT NULL,
    agent_hash TEXT NOT NULL,
    on_behalf INTEGER NOT NULL,
    ids TEXT NOT NULL,
    times INTEGER NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (tenant_id, number)
) STRICT, WITHOUT ROWID;

-- What was written with a change, and has no place in the chain yet.
CREATE TABLE audit_waiting (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    act TEXT NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
