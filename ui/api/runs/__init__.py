"""Routes of runs: comparing them, and recordings to run on."""
