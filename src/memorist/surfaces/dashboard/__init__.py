"""The dashboard: pages for people, over the same core and the same policy layer as every other door."""
