"""The result of a backtest as an HTML page, JSON, text and files of trades."""
