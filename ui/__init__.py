"""The dashboard: REST, WebSocket and pages."""
