"""The HTTP server: one module per published API, around one boundary for ids, limits, logs and errors."""
