-- What happened when, what is due for whom, and what each day's calls of language models took: for those who look on.

-- What was asked, by time: by a user, and by anybody.
DROP INDEX recalls_of_user;
CREATE INDEX recalls_of_user ON recalls (tenant_id, user_id, at, id);
CREATE INDEX recalls_by_time ON recalls (tenant_id, at, id);

-- The deadlines of one user's memories. Only what has one is in these.
CREATE INDEX memories_due_of_user ON memories (tenant_id, user_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX memories_expiring_of_user ON memories (tenant_id, user_id, expires_at, id)
    WHERE status IN ('active', 'archived') AND expires_at IS NOT NULL;
CREATE INDEX memories_retired_of_user ON memories (tenant_id, user_id, updated_at, id)
    WHERE status = 'archived' AND superseded_by IS NOT NULL AND anonymized_at IS NULL;

-- Spending is counted by day from now on; what is from before is that of its month's first day, and has no calls.
-- `cost_usd` counts towards the budget, `other_usd` does not; `unpriced` calls have a price that nobody knows. `seconds`
-- is how long all calls took together, `slowest` the longest of them.
ALTER TABLE spending RENAME COLUMN month TO day;
ALTER TABLE spending ADD COLUMN other_usd REAL NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN seconds REAL NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN slowest REAL NOT NULL DEFAULT 0;
