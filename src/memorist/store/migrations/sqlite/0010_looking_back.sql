-- Two lists that are looked at seldom, among rows that are many: what redaction took out, and jobs that are not done.

CREATE INDEX memory_events_redacted ON memory_events (tenant_id, seq) WHERE event_type = 'redacted';
CREATE INDEX jobs_not_done ON jobs (tenant_id, id) WHERE status <> 'done';
