"""Shared by every process of a session: its description, the clock, roles, processes, labels and number formats."""
