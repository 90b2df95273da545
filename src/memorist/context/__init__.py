"""A companion's entries, a coding assistant's chunks, and memories as text for a prompt, fenced and marked as data."""
