"""Sums that grow with a session, each row read once."""
