"""Sending currencies from one exchange to another."""
