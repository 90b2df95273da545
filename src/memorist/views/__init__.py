"""What only people look at: lists, counts and stories for the dashboard and the command line."""
