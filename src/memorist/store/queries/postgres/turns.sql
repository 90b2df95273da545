-- Which messages are stored, in the words of PostgreSQL. sqlite/ defines the same names.

-- name: count_said
-- How many messages of an owner say each of some texts, in whichever session and whatever became of them.
SELECT content_hash, count(*) FROM memories
WHERE tenant_id = :tenant AND user_id = :user_id AND agent_id = :agent_id AND kind = 'chat_message'
    AND content_hash = ANY (CAST(:hashes AS text[]))
GROUP BY content_hash
