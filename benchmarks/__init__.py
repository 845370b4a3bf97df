"""Benchmarks: each prints a ratio to a named peer that was measured in the same run; see docs/benchmarks.md."""
