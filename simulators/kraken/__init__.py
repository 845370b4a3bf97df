"""Kraken's wire protocol."""
