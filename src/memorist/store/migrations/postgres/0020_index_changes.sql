-- Counters of what changes in the index: see memorist/store/index_changes.py. Before, a change was the number of its
-- transaction, which only the server that counted it could compare.

CREATE TABLE index_changes (
    tenant_id text NOT NULL,
    counter smallint NOT NULL,
    change bigint NOT NULL,
    PRIMARY KEY (tenant_id, counter)
);
-- @tenant_table index_changes
