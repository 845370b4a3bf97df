"""Replays and backtests of recorded market data."""
