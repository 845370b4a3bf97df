"""The `arbitrage` command and everything that it starts."""
