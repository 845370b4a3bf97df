"""What every request passes: authentication, limits, problem responses, headers."""
