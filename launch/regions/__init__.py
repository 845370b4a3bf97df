"""Regions on one machine: a network namespace each, and a process that carries packets between them with delays."""
