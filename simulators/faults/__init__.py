"""Injected faults: which are active, and their effects on frames and orders."""
