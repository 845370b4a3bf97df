"""Commands for those who use a session by another program."""
