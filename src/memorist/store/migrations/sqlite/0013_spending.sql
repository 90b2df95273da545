-- Spending, and telling whether a message is stored already, in whichever session.

-- What the calls of a tenant's turns have cost in a month, also of turns that were erased since. `month` is when it
-- began, in UTC.
CREATE TABLE spending (
    tenant_id TEXT NOT NULL,
    month INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    PRIMARY KEY (tenant_id, month)
) STRICT, WITHOUT ROWID;

CREATE INDEX memories_said ON memories (tenant_id, user_id, agent_id, content_hash) WHERE kind = 'chat_message';
