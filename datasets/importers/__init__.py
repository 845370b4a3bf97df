"""Readers of other people's recordings: each yields Quotes in the order of (time, row) of one file."""
