"""Trades what was found as the bots would have done, in the recording's own time."""
