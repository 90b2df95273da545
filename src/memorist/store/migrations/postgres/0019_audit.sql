-- The audit log: who read, wrote and was refused what. Names and ids in it are salted hashes.

-- Where a tenant's chain ends, and where it begins since older entries were removed.
CREATE TABLE audit_heads (
    tenant_id text NOT NULL PRIMARY KEY,
    number bigint NOT NULL,
    hash text NOT NULL,
    first bigint NOT NULL,
    anchor text NOT NULL,
    salt text NOT NULL
);
-- @tenant_table audit_heads

-- The entries, each with a hash that covers that of the one before.
CREATE TABLE audit_log (
    tenant_id text NOT NULL,
    number bigint NOT NULL,
    at bigint NOT NULL,
    kind text NOT NULL,
    door text NOT NULL,
    route text NOT NULL,
    outcome text NOT NULL,
    key_id text NOT NULL,
    role text NOT NULL,
    user_hash text NOT NULL,
    agent_hash text NOT NULL,
    on_behalf integer NOT NULL,
    ids text NOT NULL,
    times integer NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (tenant_id, number)
);
-- @tenant_table audit_log

-- What was written with a change, and has no place in the chain yet.
CREATE TABLE audit_waiting (
    tenant_id text NOT NULL,
    id text COLLATE "C" NOT NULL,
    act text NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
-- @tenant_table audit_waiting
