"""What a trader looks up and orders: candles, decisions, closing what is left, alerts."""
