-- Turns: exchanges with a language model, and the events that a client follows and can read again.

-- `request` is emptied when a turn is over: what was said is then in memories. `runner` works on it, and is believed to
-- until `lease_until`; until `attended_until` somebody listens.
CREATE TABLE turns (
    tenant_id text NOT NULL,
    id text COLLATE "C" NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    session_id text NOT NULL,
    status text NOT NULL,
    request text NOT NULL,
    answer text,
    error text,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cost_usd double precision,
    runner text NOT NULL,
    lease_until bigint NOT NULL,
    attended_until bigint NOT NULL,
    created_at bigint NOT NULL,
    completed_at bigint,
    PRIMARY KEY (tenant_id, id)
);
-- @tenant_table turns
CREATE INDEX turns_of_user ON turns (tenant_id, user_id, id);
CREATE INDEX turns_of_session ON turns (tenant_id, session_id);
CREATE INDEX turns_running ON turns (tenant_id, lease_until) WHERE status = 'running';
CREATE INDEX turns_by_time ON turns (tenant_id, created_at);

CREATE TABLE turn_events (
    tenant_id text NOT NULL,
    turn_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    event text NOT NULL,
    data text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, turn_id, seq)
);
-- @tenant_table turn_events
