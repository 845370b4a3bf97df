"""Demonstrations of stream apps over made-up rows: `arbitrage app demo`."""
