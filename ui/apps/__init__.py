"""Stream apps on the dashboard: their texts, their versions, dry runs."""
