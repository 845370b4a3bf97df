"""Runs beside each other: backtests, and the session."""
