"""Candles of every market's quotes, as they come and as they are kept in files."""
