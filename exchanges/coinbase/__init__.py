"""Coinbase Advanced Trade: its facts, its orders and its books, spot through its interface of version 3."""
