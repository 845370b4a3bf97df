"""Starts, watches and restarts the processes of a session."""
