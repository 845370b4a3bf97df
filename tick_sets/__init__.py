"""Recorded market data: tick sets, and importers of third-party files."""
