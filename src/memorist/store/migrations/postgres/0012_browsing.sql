-- Browsing: counting what memories can be narrowed down by, their projects, and those with an importance.

-- Holds all that is counted, so that no memory is read for it.
CREATE INDEX memories_facets ON memories
    (tenant_id, user_id, status, kind, category, trust, agent_id, expires_at, anonymized_at);
-- A project's whole name may be longer than an index takes.
CREATE INDEX memories_projects ON memories (tenant_id, user_id, project)
    WHERE project <> '' AND octet_length(project) <= 1000;
CREATE INDEX memories_weighty_of_user ON memories (tenant_id, user_id, status, importance, created_at, id)
    WHERE importance > 0;
CREATE INDEX memories_weighty_of_tenant ON memories (tenant_id, status, importance, created_at, id)
    WHERE importance > 0;
