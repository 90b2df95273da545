"""What is known of a person, put in order."""
