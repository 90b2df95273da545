"""Settings of a store without models: they cost seconds, and most tests are not about meaning."""

from typing import Any

from memorist.settings import Settings


def bare(url: str, **others: Any) -> Settings:
    """A database by its URL, searched by keywords alone."""
    return Settings(**({"database": url, "embedder": "off", "reranker": "off"} | others))
