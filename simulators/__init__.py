"""Simulated exchanges that speak the wire protocols of real ones on loopback."""
