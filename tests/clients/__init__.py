"""Clients that other people wrote, in environments of their own, against the simulated exchanges."""
