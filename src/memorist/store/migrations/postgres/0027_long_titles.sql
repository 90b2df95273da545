-- Only the beginning of a title: PostgreSQL takes no more than 2704 bytes of a row into an index, and a long title is more, above
-- all an encrypted one.
DROP INDEX documents_by_title;
CREATE INDEX documents_by_title ON documents (tenant_id, user_id, agent_id, substr(title, 1, 64));
