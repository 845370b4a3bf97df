"""REST under /api and the live WebSocket."""
