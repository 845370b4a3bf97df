"""Many parameter sets over one tick set."""
