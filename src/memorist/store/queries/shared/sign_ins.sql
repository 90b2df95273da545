-- Who is signed in to the dashboard.

-- name: find_sign_in
-- scope: global
-- A link or session and the key that it stands for: this is how the tenant becomes known.
SELECT s.kind, s.created_at, s.expires_at,
    k.id, k.tenant_id, k.secret_hash, k.role, k.user_id, k.agent_id, k.label, k.created_at, k.revoked_at, k.last_used_at,
    k.expires_at
FROM sign_ins s JOIN api_keys k ON k.id = s.key_id AND k.tenant_id = s.tenant_id
WHERE s.token_hash = :token_hash

-- name: insert_sign_in
-- A new link or session; only the hash of its token is kept.
INSERT INTO sign_ins (token_hash, tenant_id, kind, key_id, created_at, expires_at)
VALUES (:token_hash, :tenant, :kind, :key_id, :created_at, :expires_at)

-- name: delete_sign_in
-- End a link or session. Of two that try to use a link, one removes it.
DELETE FROM sign_ins WHERE tenant_id = :tenant AND token_hash = :token_hash

-- name: drop_expired_sign_ins
-- Remove what is past its time.
DELETE FROM sign_ins WHERE tenant_id = :tenant AND expires_at <= :now

-- name: purge_sign_ins
-- Remove all links and sessions of a tenant.
DELETE FROM sign_ins WHERE tenant_id = :tenant
