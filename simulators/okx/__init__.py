"""A simulated OKX: spot of its interface of version 5."""
