"""Turns: one exchange with a language model, with memory, streamed and replayable."""
