"""Options that several commands share, and how their words are read."""
