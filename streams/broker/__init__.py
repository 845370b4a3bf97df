"""The embedded Kafka broker, and its users and access rights."""
