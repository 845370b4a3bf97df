"""Stream apps over recorded data."""
