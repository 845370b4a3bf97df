"""Texts of apps."""
