"""Strategies beside arbitrage: the moving average."""
