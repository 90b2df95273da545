-- A user's memories as the companion API shows them.

-- name: list_category_of_user
-- plan: anew
-- The active facts of a user in one category, newest first; those that are longer than an entry may be are not shown,
-- as far as the database can tell.
SELECT {memory_columns} FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND category = :category AND category <> '' AND kind = 'fact'
    AND (length(content) <= :longest OR substr(content, 1, 2) = :sealed) AND status = 'active' AND created_at > :since
    AND (expires_at IS NULL OR expires_at > :now) AND anonymized_at IS NULL
    AND (created_at, id) < (:after_time, :after_id)
    {any_agent}
ORDER BY created_at DESC, id DESC LIMIT :limit
