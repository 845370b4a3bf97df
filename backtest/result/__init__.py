"""What a backtest came to."""
