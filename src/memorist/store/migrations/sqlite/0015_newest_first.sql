-- What waits for its vectors is taken newest first: what was just said is asked about first.

DROP INDEX memory_index_waiting;
CREATE INDEX memory_index_waiting ON memory_index (tenant_id, claimed_until, memory_id DESC) WHERE model = '';
