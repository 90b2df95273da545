-- The door that governs each memory, and when each tenant's observation window began.

-- What was written before is governed by the door that its fields point to (memories/governance.py says the same).
ALTER TABLE memories ADD COLUMN governed_by TEXT NOT NULL DEFAULT 'native';
UPDATE memories SET governed_by = CASE
    WHEN kind <> 'fact' THEN 'agent_tools'
    WHEN name <> '' THEN 'profile'
    WHEN retention = 'policy' THEN 'lifecycle'
    WHEN category IN ('decision', 'fact', 'solution', 'pattern', 'summary') THEN 'coding_assistant'
    WHEN category = 'preference' AND relevance IS NOT NULL AND coalesce(source_ref, '') NOT LIKE 'turn\_%' ESCAPE '\'
        THEN 'coding_assistant'
    WHEN category IN ('goal', 'insight', 'preference', 'history', 'tested_hypothesis') THEN 'companion'
    WHEN trust = 'agent' THEN 'agent_tools'
    ELSE 'native'
END;
-- What one door keeps is not another's to change by saying the same.
UPDATE memories SET dedup_key = governed_by || ':' || dedup_key
WHERE governed_by IN ('companion', 'coding_assistant', 'lifecycle') AND dedup_key <> id;

-- Where the retention has only observed so far, it goes on doing so for a whole window.
ALTER TABLE tenants ADD COLUMN observed_from INTEGER NOT NULL DEFAULT 0;
UPDATE tenants SET observed_from = CAST(strftime('%s', 'now') AS INTEGER) * 1000000;

-- Of a turn without a session no message is stored any more, so nobody asks in which session one is.
DROP INDEX memories_said;
