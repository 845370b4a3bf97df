"""Stream apps over logs that are there already: dry runs, and the logs of replays."""
