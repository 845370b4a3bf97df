"""Whole histories of the bots on a clock, a network and exchanges that a test drives step by step."""
