"""Our books against the exchange's own."""
