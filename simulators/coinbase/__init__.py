"""A simulated Coinbase Advanced Trade: spot of its interface of version 3."""
