"""Entries in the settings files of other programs, written without disturbing what stands there."""
