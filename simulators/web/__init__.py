"""Shared by the wire protocols: the gateway, signatures, rate limits, subscribers."""
