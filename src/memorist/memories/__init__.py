"""The row: what a memory is, how it is written, read, changed and forgotten, and what time does to it."""
