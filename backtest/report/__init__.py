"""A result as a page, as JSON, as lines."""
