"""What an agent is given: one text of what is known, what changed and what fits the question, within a budget."""
