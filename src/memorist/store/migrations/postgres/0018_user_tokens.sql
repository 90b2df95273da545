-- Tokens that a page in a browser has: bound to one user and to a role, and to the key that gave them out.

ALTER TABLE sign_ins ADD COLUMN role text NOT NULL DEFAULT '';
ALTER TABLE sign_ins ADD COLUMN user_id text NOT NULL DEFAULT '';
ALTER TABLE sign_ins ADD COLUMN agent_id text NOT NULL DEFAULT '';
CREATE INDEX sign_ins_of_user ON sign_ins (tenant_id, user_id);
