"""The live stream: follows Kafka and MongoDB and publishes to every client."""
