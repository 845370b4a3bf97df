"""What a user configures before a start."""
