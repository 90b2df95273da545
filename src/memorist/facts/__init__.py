"""Facts that stay true: judging, supersession and doubts."""
