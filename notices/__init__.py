"""Notices to people: routing, batching, delivery."""
