"""Each prints a ratio against a named peer that was measured in the same run; see docs/benchmarks.md."""
