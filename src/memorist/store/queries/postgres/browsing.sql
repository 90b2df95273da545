-- What browsing needs of PostgreSQL: comparing texts. sqlite/ defines the same names.

-- fragment: browse_filters
    AND anonymized_at IS NULL AND {in_state} AND importance <= :most_importance {readable}
    AND created_at >= :since AND created_at < :before
    AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
    AND (CAST(:kind AS text) IS NULL OR kind = :kind)
    AND (CAST(:category AS text) IS NULL OR category = :category)
    AND (CAST(:trust AS text) IS NULL OR trust = :trust)
    AND (CAST(:project AS text) IS NULL OR project = :project)
    AND (CAST(:session AS text) IS NULL OR session_id = :session)
    -- A text with more bytes than letters is not of ASCII alone, and compared by us. Of the others the collation C
    -- lowers all letters, whatever the language of the database.
    AND (
        CAST(:pattern AS text) = '%'
        OR lower(content COLLATE "C") LIKE :pattern ESCAPE '!' OR octet_length(content) > length(content)
        OR name LIKE :pattern ESCAPE '!'
        OR lower(description COLLATE "C") LIKE :pattern ESCAPE '!' OR octet_length(description) > length(description)
    )
