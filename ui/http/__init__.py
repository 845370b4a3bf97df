"""What every request passes: guards, bounds, problems, headers."""
