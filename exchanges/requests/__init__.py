"""Requests to an exchange: rate budgets, permits of orders, signatures by the exchange's time."""
