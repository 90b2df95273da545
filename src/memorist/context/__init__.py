"""What an agent is given: memories as text for a prompt, fenced and marked as data."""
