"""Binance's wire protocol."""
