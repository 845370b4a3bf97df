"""One feeder per exchange: what the exchange shows becomes rows of the log."""
