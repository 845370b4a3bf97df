"""The JSON rows of REST and WebSocket."""
