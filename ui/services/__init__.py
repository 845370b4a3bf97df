"""Services that REST and pages share."""
