"""What is built from this tree, and how it is run elsewhere."""
