"""From what was said to what is worth remembering: transcripts, rules, and the prompt for a language model. Pure."""
