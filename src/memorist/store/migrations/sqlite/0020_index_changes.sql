-- Counters of what changes in the index: see memorist/store/index_changes.py.

CREATE TABLE index_changes (
    tenant_id TEXT NOT NULL,
    counter INTEGER NOT NULL,
    change INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, counter)
) STRICT, WITHOUT ROWID;
