"""The index: what is searched of each user, in the database and in memory."""
