-- Turns and their events.

-- fragment: turn_columns
id, user_id, agent_id, session_id, status, request, answer, error, input_tokens, output_tokens, cost_usd, runner,
lease_until, attended_until, created_at, completed_at

-- name: insert_turn
-- Write down what was asked before anybody works on it.
INSERT INTO turns (
    tenant_id, id, user_id, agent_id, session_id, status, request, input_tokens, output_tokens, cost_usd, runner,
    lease_until, attended_until, created_at
) VALUES (
    :tenant, :id, :user_id, :agent_id, :session_id, 'running', :request, 0, 0, 0, :runner, :lease_until,
    :attended_until, :created_at
)

-- name: get_turn
-- One turn.
SELECT {turn_columns} FROM turns WHERE tenant_id = :tenant AND id = :id

-- name: list_turns
-- Turns of a slice of owners, newest first.
SELECT {turn_columns} FROM turns
WHERE tenant_id = :tenant AND id < :before_id AND {of_slice}
ORDER BY id DESC LIMIT :limit

-- name: list_turn_figures
-- What the newest turns of a slice of owners took, as far as they began since a moment.
SELECT status, input_tokens, output_tokens, cost_usd, created_at, completed_at FROM (
    SELECT id, status, input_tokens, output_tokens, cost_usd, created_at, completed_at FROM turns
    WHERE tenant_id = :tenant AND {of_slice} ORDER BY id DESC LIMIT :most
) AS newest
WHERE created_at >= :since ORDER BY id DESC

-- name: append_turn_event
-- Add an event to a turn's stream.
INSERT INTO turn_events (tenant_id, turn_id, seq, event, data, created_at)
VALUES (:tenant, :turn_id, :seq, :event, :data, :created_at)

-- name: list_turn_events
-- The events of a turn after one of them.
SELECT seq, event, data, created_at FROM turn_events
WHERE tenant_id = :tenant AND turn_id = :turn_id AND seq > :after ORDER BY seq LIMIT :limit

-- name: last_turn_event
-- How many events a turn has.
SELECT coalesce(max(seq), 0) FROM turn_events WHERE tenant_id = :tenant AND turn_id = :turn_id

-- name: list_told_to_turn
-- What the events of a turn say that its model was told.
SELECT data FROM turn_events
WHERE tenant_id = :tenant AND turn_id = :turn_id AND event IN ('memory.injected', 'tool.completed')

-- name: hold_turn
-- Go on working on a turn, where nobody else has taken it.
UPDATE turns SET lease_until = :lease_until
WHERE tenant_id = :tenant AND id = :id AND status = 'running' AND runner = :runner

-- name: attend_turn
-- Say that somebody listens.
UPDATE turns SET attended_until = :attended_until
WHERE tenant_id = :tenant AND id = :id AND status = 'running' AND attended_until < :attended_until

-- name: list_lost_turns
-- Turns that nobody works on any more.
SELECT {turn_columns} FROM turns
WHERE tenant_id = :tenant AND status = 'running' AND lease_until <= :now LIMIT :limit

-- name: take_turn
-- Take over a turn that nobody works on any more.
UPDATE turns SET runner = :runner, lease_until = :lease_until
WHERE tenant_id = :tenant AND id = :id AND status = 'running' AND lease_until <= :now

-- name: finish_turn
-- Note how a turn ended; what was asked is no longer needed.
UPDATE turns SET
    status = :status, request = '', answer = :answer, error = :error, input_tokens = :input_tokens,
    output_tokens = :output_tokens, cost_usd = :cost_usd, completed_at = :completed_at
WHERE tenant_id = :tenant AND id = :id AND status = 'running' AND runner = :runner

-- name: lock_turn
-- Let nobody else add events to a turn.
UPDATE turns SET lease_until = lease_until WHERE tenant_id = :tenant AND id = :id

-- fragment: unkept
tenant_id = :tenant AND created_at <= :before AND session_id = id AND status <> 'running'

-- name: drop_unkept_events
-- Remove the events of turns without a session, once their time is over.
DELETE FROM turn_events WHERE tenant_id = :tenant AND turn_id IN (SELECT id FROM turns WHERE {unkept})

-- name: drop_unkept_turns
-- Remove those turns.
DELETE FROM turns WHERE {unkept}

-- name: add_spending
-- Count what calls have taken.
INSERT INTO spending (
    tenant_id, day, cost_usd, other_usd, calls, unpriced, input_tokens, output_tokens, seconds, slowest
) VALUES (
    :tenant, :day, :cost_usd, :other_usd, :calls, :unpriced, :input_tokens, :output_tokens, :seconds, :slowest
)
ON CONFLICT (tenant_id, day) DO UPDATE SET
    cost_usd = spending.cost_usd + excluded.cost_usd, other_usd = spending.other_usd + excluded.other_usd,
    calls = spending.calls + excluded.calls, unpriced = spending.unpriced + excluded.unpriced,
    input_tokens = spending.input_tokens + excluded.input_tokens,
    output_tokens = spending.output_tokens + excluded.output_tokens, seconds = spending.seconds + excluded.seconds,
    slowest = CASE WHEN excluded.slowest > spending.slowest THEN excluded.slowest ELSE spending.slowest END

-- name: spent_since
-- What of the budget was spent since a day began.
SELECT coalesce(sum(cost_usd), 0) FROM spending WHERE tenant_id = :tenant AND day >= :day

-- name: list_spending
-- What the calls of each day since one took.
SELECT day, calls, unpriced, input_tokens, output_tokens, cost_usd + other_usd, seconds, slowest FROM spending
WHERE tenant_id = :tenant AND day >= :day ORDER BY day

-- name: purge_spending
-- Remove what a tenant's calls took.
DELETE FROM spending WHERE tenant_id = :tenant

-- name: purge_turn_events_of_owner
-- Remove the events of the turns of a slice of owners.
DELETE FROM turn_events WHERE tenant_id = :tenant AND turn_id IN (
    SELECT id FROM turns
    WHERE tenant_id = :tenant AND {of_slice}
)

-- name: purge_turns_of_owner
-- Remove the turns of a slice of owners.
DELETE FROM turns WHERE tenant_id = :tenant AND {of_slice}
