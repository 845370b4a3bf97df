"""Complex event processing on Spark: opportunities and spread windows from the log."""
