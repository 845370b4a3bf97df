"""Posting an order, following it and finding it again: one file per exchange."""
