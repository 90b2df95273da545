"""Everything that a caller sees, out of one store and into another."""
