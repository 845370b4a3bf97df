"""Coinbase Exchange's wire protocol."""
