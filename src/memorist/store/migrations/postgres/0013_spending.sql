-- Spending, and telling whether a message is stored already, in whichever session.

-- What the calls of a tenant's turns have cost in a month, also of turns that were erased since. `month` is when it
-- began, in UTC.
CREATE TABLE spending (
    tenant_id text NOT NULL,
    month bigint NOT NULL,
    cost_usd double precision NOT NULL,
    PRIMARY KEY (tenant_id, month)
);
-- @tenant_table spending

CREATE INDEX memories_said ON memories (tenant_id, user_id, agent_id, content_hash) WHERE kind = 'chat_message';
