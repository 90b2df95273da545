-- The keys of tenants that are encrypted, each wrapped by a master key that is kept elsewhere: see memorist/store/sealed.py.

-- Number 0 says that the tenant is encrypted, and is no key. `master` names the key that wraps this one; `is_complete` is
-- whether everything is encrypted with it.
CREATE TABLE tenant_keys (
    tenant_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    wrapped BLOB NOT NULL,
    master TEXT NOT NULL,
    is_complete INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, number)
) STRICT, WITHOUT ROWID;
