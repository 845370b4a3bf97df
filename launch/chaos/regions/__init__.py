"""Chaos runs on a session of regions: faults of links, clocks and whole regions."""
