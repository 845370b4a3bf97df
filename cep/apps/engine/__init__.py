"""Runs a compiled stream app event by event: pure, deterministic, by the clock of its log."""
