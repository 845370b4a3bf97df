"""Bitstamp's wire protocol."""
