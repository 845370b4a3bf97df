"""What the dashboard knows now, in fixed room. No I/O."""
