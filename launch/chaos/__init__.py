"""The crash fuzzer: injected faults by a seed, and the audit of the books."""
