-- Tokens that a page in a browser has: bound to one user and to a role, and to the key that gave them out.

ALTER TABLE sign_ins ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE sign_ins ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
ALTER TABLE sign_ins ADD COLUMN agent_id TEXT NOT NULL DEFAULT '';
CREATE INDEX sign_ins_of_user ON sign_ins (tenant_id, user_id);
