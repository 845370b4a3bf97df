"""Sessions from start to summary: paper, live, replay."""
