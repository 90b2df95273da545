-- Who is signed in: to the dashboard, or in a page with a token.

-- name: find_sign_in
-- scope: global
-- A link, session or token and its key: this is how the tenant becomes known.
SELECT s.kind, s.created_at, s.expires_at, s.role, s.user_id, s.agent_id,
    k.id, k.tenant_id, k.secret_hash, k.role, k.user_id, k.agent_id, k.label, k.created_at, k.revoked_at, k.last_used_at,
    k.expires_at
FROM sign_ins s JOIN api_keys k ON k.id = s.key_id AND k.tenant_id = s.tenant_id
WHERE s.token_hash = :token_hash

-- name: insert_sign_in
-- A new link, session or token; only the hash of its token is kept.
INSERT INTO sign_ins (token_hash, tenant_id, kind, key_id, created_at, expires_at, role, user_id, agent_id)
VALUES (:token_hash, :tenant, :kind, :key_id, :created_at, :expires_at, :role, :user_id, :agent_id)

-- name: delete_sign_in
-- End a link or session. Of two that try to use a link, one removes it.
DELETE FROM sign_ins WHERE tenant_id = :tenant AND token_hash = :token_hash

-- name: drop_expired_sign_ins
-- Remove what is past its time.
DELETE FROM sign_ins WHERE tenant_id = :tenant AND expires_at <= :now

-- name: end_tokens
-- End the tokens of a user.
DELETE FROM sign_ins WHERE tenant_id = :tenant AND kind = 'token' AND user_id = :user_id

-- name: purge_tokens_of_owner
-- End the tokens of a slice of owners.
DELETE FROM sign_ins WHERE tenant_id = :tenant AND kind = 'token' AND {of_slice}

-- name: purge_sign_ins
-- Remove all links, sessions and tokens of a tenant.
DELETE FROM sign_ins WHERE tenant_id = :tenant
