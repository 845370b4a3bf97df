"""Kraken: its facts, its orders and its books."""
