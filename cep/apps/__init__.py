"""Stream apps: their language, its compiler, the engine, and the hosts that connect it to Kafka and Spark."""
