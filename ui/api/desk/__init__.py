"""Routes of candles, books and alerts."""
