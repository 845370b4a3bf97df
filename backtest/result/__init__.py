"""The result of a backtest."""
