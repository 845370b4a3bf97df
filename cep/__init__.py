"""Complex event processing on Spark: from the log to opportunities and to spread windows."""
