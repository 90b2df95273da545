-- What browsing needs of SQLite: comparing texts. postgres/ defines the same names.

-- fragment: browse_filters
    AND anonymized_at IS NULL AND {in_state} AND importance <= :most_importance {readable}
    AND created_at >= :since AND created_at < :before
    AND (:agent_id IS NULL OR agent_id = :agent_id)
    AND (:kind IS NULL OR kind = :kind)
    AND (:category IS NULL OR category = :category)
    AND (:trust IS NULL OR trust = :trust)
    AND (:project IS NULL OR project = :project)
    AND (:session IS NULL OR session_id = :session)
    -- A text with more bytes than letters is not of ASCII alone, and compared by us.
    AND (
        :pattern = '%'
        OR content LIKE :pattern ESCAPE '!' OR octet_length(content) > length(content)
        OR name LIKE :pattern ESCAPE '!'
        OR description LIKE :pattern ESCAPE '!' OR octet_length(description) > length(description)
    )
