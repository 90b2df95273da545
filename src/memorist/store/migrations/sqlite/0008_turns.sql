-- Turns: exchanges with a language model, and the events that a client follows and can read again.

-- `request` is emptied when a turn is over: what was said is then in memories. `runner` works on it, and is believed to
-- until `lease_until`; until `attended_until` somebody listens.
CREATE TABLE turns (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    status TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT,
    error TEXT,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd REAL,
    runner TEXT NOT NULL,
    lease_until INTEGER NOT NULL,
    attended_until INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    completed_at INTEGER,
    PRIMARY KEY (tenant_id, id)
) STRICT;
CREATE INDEX turns_of_user ON turns (tenant_id, user_id, id);
CREATE INDEX turns_of_session ON turns (tenant_id, session_id);
CREATE INDEX turns_running ON turns (tenant_id, lease_until) WHERE status = 'running';
CREATE INDEX turns_by_time ON turns (tenant_id, created_at);

CREATE TABLE turn_events (
    tenant_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    data TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, turn_id, seq)
) STRICT, WITHOUT ROWID;
