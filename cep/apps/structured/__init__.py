"""Partitioned stream apps in Spark's micro-batches: `transformWithState`, with Spark's own state and checkpoints."""
