"""Reserves, posts and follows the legs of trades."""
