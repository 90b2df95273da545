"""What every feature stands on: who is calling and what they may do, jobs, the feed, paging, redaction."""
