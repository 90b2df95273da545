"""Benchmarks that anybody can run: how well recall finds (`quality`), and how fast it is (`speed`)."""
