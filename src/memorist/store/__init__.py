"""Durable storage: one SqlStore over two drivers."""
