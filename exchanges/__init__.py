"""Accounts at exchanges: one client for real and simulated ones, and local paper accounts."""
