"""What runs beside a stream app of the session."""
