"""Recordings of feeds: received frames and published rows, in files."""
