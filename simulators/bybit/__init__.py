"""Bybit's wire protocol of version 5, spot."""
