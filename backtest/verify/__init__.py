"""Derives a recorded session again from its log and the record of its decisions, and names the first difference."""
