-- Browsing: memories of every state in one of three orders. A list is walked span by span, so that a filter which fits
-- few rows costs no more than a span at a time: an `edge` says where a span ends, `browse` what fits inside it.

-- name: edge_newest_of_owner
-- plan: anew
-- The position so many entries further on among one owner's memories, newest first.
SELECT 0, created_at, id FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND status = :status
    AND (created_at, id) < (:after_time, :after_id)
ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET :span

-- name: edge_newest_of_user
-- plan: anew
-- The position so many entries further on among one user's memories, newest first.
SELECT 0, created_at, id FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND status = :status
    AND (created_at, id) < (:after_time, :after_id)
ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET :span

-- name: edge_newest_of_tenant
-- plan: anew
-- The position so many entries further on among a tenant's memories, newest first.
SELECT 0, created_at, id FROM memories
WHERE tenant_id = :tenant AND status = :status
    AND (created_at, id) < (:after_time, :after_id)
ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET :span

-- name: edge_oldest_of_owner
-- plan: anew
-- The position so many entries further on among one owner's memories, oldest first.
SELECT 0, created_at, id FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND status = :status
    AND (created_at, id) > (:after_time, :after_id)
ORDER BY created_at, id LIMIT 1 OFFSET :span

-- name: edge_oldest_of_user
-- plan: anew
-- The position so many entries further on among one user's memories, oldest first.
SELECT 0, created_at, id FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND status = :status
    AND (created_at, id) > (:after_time, :after_id)
ORDER BY created_at, id LIMIT 1 OFFSET :span

-- name: edge_oldest_of_tenant
-- plan: anew
-- The position so many entries further on among a tenant's memories, oldest first.
SELECT 0, created_at, id FROM memories
WHERE tenant_id = :tenant AND status = :status
    AND (created_at, id) > (:after_time, :after_id)
ORDER BY created_at, id LIMIT 1 OFFSET :span

-- name: edge_importance_of_user
-- plan: anew
-- The position so many entries further on among one user's memories, those with an importance, the highest first.
SELECT importance, created_at, id FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND status = :status
    AND importance > 0 AND (importance, created_at, id) < (:after_importance, :after_time, :after_id)
ORDER BY importance DESC, created_at DESC, id DESC LIMIT 1 OFFSET :span

-- name: edge_importance_of_tenant
-- plan: anew
-- The position so many entries further on among a tenant's memories, those with an importance, the highest first.
SELECT importance, created_at, id FROM memories
WHERE tenant_id = :tenant AND status = :status
    AND importance > 0 AND (importance, created_at, id) < (:after_importance, :after_time, :after_id)
ORDER BY importance DESC, created_at DESC, id DESC LIMIT 1 OFFSET :span

-- fragment: countable
    AND anonymized_at IS NULL
    AND (expires_at IS NULL OR expires_at > :now OR status <> 'active')
    AND (:entries = 1 OR governed_by <> 'companion')

-- name: count_facets_of_user
-- plan: anew
-- How many of a user's memories there are of each combination of what they are narrowed down by, from one on.
SELECT user_id, status, kind, category, trust, agent_id, count(*) FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id
    AND (status, kind, category, trust, agent_id)
        > (:after_status, :after_kind, :after_category, :after_trust, :after_agent)
    {countable}
GROUP BY user_id, status, kind, category, trust, agent_id
ORDER BY user_id, status, kind, category, trust, agent_id LIMIT :limit

-- name: count_facets_of_tenant
-- plan: anew
-- How many of a tenant's memories there are of each combination of what they are narrowed down by, from one on.
SELECT user_id, status, kind, category, trust, agent_id, count(*) FROM memories
WHERE tenant_id = :tenant
    AND (user_id, status, kind, category, trust, agent_id)
        > (:after_user, :after_status, :after_kind, :after_category, :after_trust, :after_agent)
    {countable}
GROUP BY user_id, status, kind, category, trust, agent_id
ORDER BY user_id, status, kind, category, trust, agent_id LIMIT :limit

-- name: next_project_of_user
-- plan: anew
-- The project, agent and state after others among a user's, in their order.
SELECT user_id, project, agent_id, status FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id
    AND (project, agent_id, status) > (:after_project, :after_agent, :after_status)
    AND project <> '' AND octet_length(project) <= 1000
ORDER BY user_id, project, agent_id, status LIMIT 1

-- name: next_project_of_tenant
-- plan: anew
-- The user, project, agent and state after others, in their order.
SELECT user_id, project, agent_id, status FROM memories
WHERE tenant_id = :tenant
    AND (user_id, project, agent_id, status) > (:after_user, :after_project, :after_agent, :after_status)
    AND project <> '' AND octet_length(project) <= 1000
ORDER BY user_id, project, agent_id, status LIMIT 1

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
