"""The command line: `commands` is the table, `runner` runs one of them, the other modules hold what they do."""
