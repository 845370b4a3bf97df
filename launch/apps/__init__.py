"""The helpers that run beside a stream app of the session."""
