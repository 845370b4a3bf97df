"""Backups of a data folder: written, checked, restored."""
