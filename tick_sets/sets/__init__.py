"""Tick sets: the log of each base as Parquet; the only input of backtests and verification."""
