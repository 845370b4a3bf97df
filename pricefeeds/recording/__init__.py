"""What feeds heard and wrote, kept in files beside them."""
