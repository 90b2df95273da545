-- Keys that end by themselves, and whose each project is.

ALTER TABLE api_keys ADD COLUMN expires_at bigint;

-- Holds the agent and the state too, so that a project is shown to those only who see a memory of it.
DROP INDEX memories_projects;
CREATE INDEX memories_projects ON memories (tenant_id, user_id, project, agent_id, status)
    WHERE project <> '' AND octet_length(project) <= 1000;
