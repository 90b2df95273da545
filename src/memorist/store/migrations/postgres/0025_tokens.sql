-- What a model made of the tokens of a memory: recall compares them with a question's, of the first candidates alone. Packed
-- (memorist/recall/index/tokens.py), and here only while the memory's row of the index has the vectors of that model.

-- Not beside the vectors, which are read by the thousand: a row is about as large as everything else of the index together.
CREATE TABLE memory_tokens (
    tenant_id text NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    model text NOT NULL,
    tokens bytea NOT NULL,
    PRIMARY KEY (tenant_id, memory_id)
);
-- Signs of numbers cannot be compressed.
ALTER TABLE memory_tokens ALTER COLUMN tokens SET STORAGE EXTERNAL;
-- @tenant_table memory_tokens
