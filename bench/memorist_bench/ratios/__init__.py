"""What developers measure: every claim of speed is a ratio within one run, which holds on fast and slow machines."""
