"""Bitstamp: its facts, its orders and its books."""
