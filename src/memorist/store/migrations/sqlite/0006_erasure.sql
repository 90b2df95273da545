-- Erasures: the receipt of each, and the ledger of what was erased, which imports and restored backups are held against.

-- `status` is due, running, scrubbing or done. `request` is what was asked and is emptied before the files are scrubbed,
-- since it may name a person; `subject` is the salted hash of whose data it was. No other column holds personal text.
CREATE TABLE receipts (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    request TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    salt TEXT NOT NULL,
    subject TEXT NOT NULL,
    counts TEXT NOT NULL,
    verification TEXT NOT NULL,
    remains TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    finished_at INTEGER,
    PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_unfinished ON receipts (tenant_id, due_at) WHERE status <> 'done';

-- A memory's id is kept as 32 hexadecimal digits, so that a search of the files for the id as it was shown finds only
-- what should not be there; a document's or a user's is kept as the salted hash of its name.
CREATE TABLE erasures (
    tenant_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    salt TEXT NOT NULL,
    receipt_id TEXT NOT NULL,
    erased_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX erasures_of_receipt ON erasures (tenant_id, receipt_id, kind, id);

-- What was derived from a memory that is erased.
CREATE INDEX memories_of_source ON memories (tenant_id, source_ref) WHERE source_ref IS NOT NULL;
