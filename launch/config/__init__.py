"""Everything that a user configures before a start."""
