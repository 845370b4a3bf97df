"""What the page Backtests asks of recordings: processes that it starts."""
