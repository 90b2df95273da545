-- A user's goals, preferences, insights and history are listed, and told to a model, by category.

CREATE INDEX memories_of_category ON memories (tenant_id, user_id, category, status, created_at, id)
    WHERE category <> '' AND kind = 'fact';
