"""What the wire protocols share: the gateway, signatures, rate limits, subscribers."""
