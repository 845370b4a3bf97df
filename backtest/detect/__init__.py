"""Detection over a tick set, in Spark."""
