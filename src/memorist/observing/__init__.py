"""Watching a server: what is counted for `/metrics`, and the traces that go to a collector."""
