"""Simulated exchanges with the wire protocols of the real ones, on loopback."""
