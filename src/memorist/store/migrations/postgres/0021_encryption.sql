-- The keys of tenants that are encrypted, each wrapped by a master key that is kept elsewhere: see memorist/store/sealed.py.

-- Number 0 says that the tenant is encrypted, and is no key. `master` names the key that wraps this one; `is_complete` is
-- whether everything is encrypted with it.
CREATE TABLE tenant_keys (
    tenant_id text NOT NULL,
    number bigint NOT NULL,
    wrapped bytea NOT NULL,
    master text NOT NULL,
    is_complete integer NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, number)
);
-- @reference_table tenant_keys
