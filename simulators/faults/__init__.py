"""Faults on command: which of them an exchange shows, and what they do to frames and orders."""
