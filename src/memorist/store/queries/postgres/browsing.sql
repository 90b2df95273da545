-- What browsing needs of PostgreSQL: comparing texts, and counting. sqlite/ defines the same names.

-- fragment: browse_filters
    AND anonymized_at IS NULL AND (expires_at IS NULL OR expires_at > :now) AND importance <= :most_importance
    AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
    AND (CAST(:kind AS text) IS NULL OR kind = :kind)
    AND (CAST(:category AS text) IS NULL OR category = :category)
    AND (CAST(:trust AS text) IS NULL OR trust = :trust)
    AND (CAST(:project AS text) IS NULL OR project = :project)
    -- A text with more bytes than letters is not of ASCII alone, and compared by us. Of the others the collation C
    -- lowers all letters, whatever the language of the database.
    AND (
        CAST(:pattern AS text) = '%'
        OR lower(content COLLATE "C") LIKE :pattern ESCAPE '!' OR octet_length(content) > length(content)
        OR name LIKE :pattern ESCAPE '!'
        OR lower(description COLLATE "C") LIKE :pattern ESCAPE '!' OR octet_length(description) > length(description)
    )

-- name: browse_newest_of_owner
-- plan: anew
-- What fits inside a span of one owner's memories, newest first.
SELECT importance, created_at, id, name, description, CASE WHEN :texts = 1 THEN content ELSE '' END FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND status = :status
    AND (created_at, id) < (:after_time, :after_id)
    AND (created_at, id) >= (:until_time, :until_id)
    {browse_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: browse_newest_of_user
-- plan: anew
-- What fits inside a span of one user's memories, newest first.
SELECT importance, created_at, id, name, description, CASE WHEN :texts = 1 THEN content ELSE '' END FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND status = :status
    AND (created_at, id) < (:after_time, :after_id)
    AND (created_at, id) >= (:until_time, :until_id)
    {browse_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: browse_newest_of_tenant
-- plan: anew
-- What fits inside a span of a tenant's memories, newest first.
SELECT importance, created_at, id, name, description, CASE WHEN :texts = 1 THEN content ELSE '' END FROM memories
WHERE tenant_id = :tenant AND status = :status
    AND (created_at, id) < (:after_time, :after_id)
    AND (created_at, id) >= (:until_time, :until_id)
    {browse_filters}
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: browse_oldest_of_owner
-- plan: anew
-- What fits inside a span of one owner's memories, oldest first.
SELECT importance, created_at, id, name, description, CASE WHEN :texts = 1 THEN content ELSE '' END FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND status = :status
    AND (created_at, id) > (:after_time, :after_id)
    AND (created_at, id) <= (:until_time, :until_id)
    {browse_filters}
ORDER BY created_at, id LIMIT :limit

-- name: browse_oldest_of_user
-- plan: anew
-- What fits inside a span of one user's memories, oldest first.
SELECT importance, created_at, id, name, description, CASE WHEN :texts = 1 THEN content ELSE '' END FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND status = :status
    AND (created_at, id) > (:after_time, :after_id)
    AND (created_at, id) <= (:until_time, :until_id)
    {browse_filters}
ORDER BY created_at, id LIMIT :limit

-- name: browse_oldest_of_tenant
-- plan: anew
-- What fits inside a span of a tenant's memories, oldest first.
SELECT importance, created_at, id, name, description, CASE WHEN :texts = 1 THEN content ELSE '' END FROM memories
WHERE tenant_id = :tenant AND status = :status
    AND (created_at, id) > (:after_time, :after_id)
    AND (created_at, id) <= (:until_time, :until_id)
    {browse_filters}
ORDER BY created_at, id LIMIT :limit

-- name: browse_importance_of_user
-- plan: anew
-- What fits inside a span of one user's memories, those with an importance, the highest first.
SELECT importance, created_at, id, name, description, CASE WHEN :texts = 1 THEN content ELSE '' END FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND status = :status
    AND importance > 0 AND (importance, created_at, id) < (:after_importance, :after_time, :after_id)
    AND (importance, created_at, id) >= (:until_importance, :until_time, :until_id)
    {browse_filters}
ORDER BY importance DESC, created_at DESC, id DESC LIMIT :limit

-- name: browse_importance_of_tenant
-- plan: anew
-- What fits inside a span of a tenant's memories, those with an importance, the highest first.
SELECT importance, created_at, id, name, description, CASE WHEN :texts = 1 THEN content ELSE '' END FROM memories
WHERE tenant_id = :tenant AND status = :status
    AND importance > 0 AND (importance, created_at, id) < (:after_importance, :after_time, :after_id)
    AND (importance, created_at, id) >= (:until_importance, :until_time, :until_id)
    {browse_filters}
ORDER BY importance DESC, created_at DESC, id DESC LIMIT :limit
