"""Benchmarks. Every claim of speed is a ratio within one run, so that it holds on fast and on slow machines."""
