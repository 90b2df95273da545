-- Who has vectors of another model, however many others there are. What else waits has its indexes already.
CREATE INDEX tenants_by_model ON tenants (index_model);
