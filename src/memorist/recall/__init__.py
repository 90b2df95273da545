"""Recall: what matters for a question, by keyword and by meaning, reranked; and why."""
