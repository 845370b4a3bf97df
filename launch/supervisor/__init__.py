"""Starts, monitors and restarts the processes of a session."""
