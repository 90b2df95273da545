"""From what was said to what is known: transcripts, extractors and what they find."""
