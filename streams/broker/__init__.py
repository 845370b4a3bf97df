"""The embedded Kafka broker, and who may read and write what."""
