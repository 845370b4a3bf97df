"""What REST and pages both do."""
