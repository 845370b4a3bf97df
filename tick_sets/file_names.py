"""Names of the files by which recorded data is found; a process that only looks for it imports no Arrow."""

MANIFEST = "manifest.json"
"""In the folder of each tick set."""
LOG_SET = "ticks"
"""A recorded session's log as a tick set, below the folder of its log."""
