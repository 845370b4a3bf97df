"""Our accounts at exchanges through ccxt: their orders, rules, fees and keys."""
