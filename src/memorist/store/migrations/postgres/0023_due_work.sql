-- Who has work that waits: background rounds look there, whoever's it is, and nowhere else. No tenant is called '*', and
-- whoever looks as it sees only what waits: the indexes of what waits, which hold nothing else, say whose it is.
CREATE POLICY jobs_that_wait ON jobs FOR SELECT
    USING (current_setting('memorist.tenant', true) = '*' AND status = 'waiting');
CREATE POLICY index_that_waits ON memory_index FOR SELECT
    USING (current_setting('memorist.tenant', true) = '*' AND model = '');
CREATE POLICY turns_that_run ON turns FOR SELECT
    USING (current_setting('memorist.tenant', true) = '*' AND status = 'running');
CREATE POLICY receipts_that_wait ON receipts FOR SELECT
    USING (current_setting('memorist.tenant', true) = '*' AND status <> 'done');

-- Those whose vectors are another model's, however many others there are.
CREATE INDEX tenants_by_model ON tenants (index_model);
