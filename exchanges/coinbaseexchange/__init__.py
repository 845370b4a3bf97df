"""Coinbase Exchange: its facts, its orders and its books."""
