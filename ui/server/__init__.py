"""The process: one origin for REST, WebSocket and pages."""
