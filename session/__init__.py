"""What every process of a session shares: its description, the clock, roles, processes, words for people."""
