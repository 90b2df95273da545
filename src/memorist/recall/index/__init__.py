"""The index of what is searched, in memory and in the database."""
