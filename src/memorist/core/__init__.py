"""What Memorist does. Surfaces call it; it knows ports and values, no database and no protocol."""
