"""What people read: words for states and reasons, and numbers."""
