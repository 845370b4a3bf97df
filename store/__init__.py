"""Shared state of all bots in MongoDB, under a port with a second adapter in memory."""
