"""Kafka: topics, wire format, producer and consumer, the embedded broker."""
