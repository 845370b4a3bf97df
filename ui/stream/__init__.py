"""The live stream: follows streams and store, tells every client."""
