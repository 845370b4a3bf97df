"""Importers of third-party data: each yields Quotes in the order of (time, row) of one file."""
