-- Work that waits (judging, extraction), what the judge was unsure of, and the chains of facts that replaced each other.

-- `run_at` is when a job is due; whoever takes it moves it on, so that it is due again where that process dies.
CREATE TABLE jobs (
    tenant_id text NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    acting text NOT NULL,
    payload text NOT NULL,
    status text NOT NULL,
    attempts integer NOT NULL,
    run_at bigint NOT NULL,
    error text,
    result text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
-- @tenant_table jobs
CREATE UNIQUE INDEX jobs_once ON jobs (tenant_id, kind, key) WHERE key <> '';
CREATE INDEX jobs_due ON jobs (tenant_id, run_at, id) WHERE status = 'waiting';
CREATE INDEX jobs_done ON jobs (tenant_id, updated_at) WHERE status = 'done';
CREATE INDEX jobs_of_user ON jobs (tenant_id, user_id, id);

-- Two facts that may contradict each other, the newer one first; somebody decides.
CREATE TABLE doubts (
    tenant_id text NOT NULL,
    id text COLLATE "C" NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    fact_id text COLLATE "C" NOT NULL,
    other_id text COLLATE "C" NOT NULL,
    reason text NOT NULL,
    judge text NOT NULL,
    status text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
-- @tenant_table doubts
CREATE UNIQUE INDEX doubts_once ON doubts (tenant_id, fact_id, other_id);
CREATE INDEX doubts_of_other ON doubts (tenant_id, other_id);
CREATE INDEX doubts_of_user ON doubts (tenant_id, user_id, status, id);

-- What a fact took the place of.
CREATE INDEX memories_superseded ON memories (tenant_id, superseded_by) WHERE superseded_by IS NOT NULL;
